/// What the courier may ask the attester: a closed list, so that a courier that was taken over gains nothing by it.
///
/// On the Unix socket each request and each answer is one ``Frame``. The attester answers each connection in the order
/// of its requests, so a request that waits (``report(nonces:cause:)``, ``watch(after:)``) holds up those behind it on
/// its own connection, and only there: a courier keeps one connection for each of the two and one for the rest.
public enum AttesterRequest: Hashable, Sendable {
  /// Examine and sign a report that echoes the nonces. All requests that wait when an examination starts share it;
  /// one that comes while an examination runs waits for the next, for what it asks about may just have changed.
  case report(nonces: [String], cause: ReportCause)
  /// Signed events of the present chain after this number that have not been acknowledged, oldest first.
  case events(after: Int64, limit: Int)
  /// The broker has taken every event of this chain up to this number. An acknowledgement for another chain than the
  /// present one, which began anew meanwhile, does nothing.
  case acknowledge(chain: String, eseq: Int64)
  /// A signed birth, and the signed will that belongs to it, for a new connection to the broker.
  case presence(Connection)
  /// A signed line about a report under way.
  case progress(command: String, state: ProgressState)
  /// A signed refusal of a command.
  case refusal(command: String, controller: String, code: RefusalCode)
  /// A policy token of the broker: the attester verifies it by itself.
  case policy(token: String)
  /// A trust document of the broker: likewise.
  case trust(token: String)
  /// A signed request for a new credential of the same key, with a PKCS #10 request (DER) for the courier's TLS key.
  case request(tls: [UInt8])
  /// An issuer's answer to it: the attester verifies it by itself, and keeps it.
  case renewal(token: String)
  /// Answer as soon as the number of changes seen so far differs from `after` (at once where it does already), so that
  /// no change is lost between two requests.
  case watch(after: Int64)
  case status
  /// What the courier says of itself (connected, last error …), shown by ``status`` as its word.
  case courier(JSON)

  /// Milliseconds after which a report does not come any more: two probes of twenty seconds each, for the examination
  /// that runs already and for the next one, and some to start and to sign. An attester that says nothing at all is
  /// given up much sooner.
  public static let longestReport: Int64 = 90_000

  /// A connection to the broker that is about to be made.
  public struct Connection: Hashable, Sendable {
    /// Random id, base64url: the `chal` that commands to this device have to repeat.
    public var id: String
    /// Named counters since the courier's start.
    public var counters: [String: Int64]

    public init(id: String, counters: [String: Int64] = [:]) {
      self.id = id
      self.counters = counters
    }
  }
}

/// Why a report was made.
public enum ReportCause: String, Sendable, CaseIterable {
  case start, schedule, change, recheck, resume, clock, policy, reconnect
}

public enum ProgressState: String, Sendable, CaseIterable {
  case accepted, waiting, running
}

/// Why a command is not obeyed.
public enum RefusalCode: String, Sendable, CaseIterable {
  case expired, tooLong, rateLimited, trustExpired, staleChallenge, unsupported, busy
}

public enum AttesterAnswer: Hashable, Sendable {
  /// One signed token.
  case token(String)
  /// Birth and will, and the connection's rising number that both carry.
  case presence(birth: String, will: String, number: Int64)
  /// Oldest first; none where all are acknowledged.
  case events(chain: String, [NumberedToken])
  case done
  /// The number of changes seen so far, and how much of what was read is watched.
  case changed(number: Int64, coverage: WatchCoverage)
  case status(JSON)
  case failed(code: AttesterFailure, why: String)

  public struct NumberedToken: Hashable, Sendable {
    public var eseq: Int64
    public var token: String
    public init(eseq: Int64, token: String) {
      self.eseq = eseq
      self.token = token
    }
  }
}

/// How much of what an examination read is watched for changes.
public typealias WatchCoverage = ReportClaims.Watch

/// Why the attester does not do what it was asked for.
public enum AttesterFailure: String, Sendable, CaseIterable {
  /// The request is none of the list, or out of its bounds.
  case badRequest
  /// The token is not signed by whom it should be, or for somebody else.
  case untrusted
  /// A version below one that was taken already.
  case rollback
  /// A policy below the built-in floor, not signed by the root.
  case belowFloor
  /// Too much is asked for at once.
  case busy
  /// No key, or no credential: the device is not enrolled.
  case notEnrolled
  /// The journal cannot be written (disk full, read-only).
  case store
  case signing
  /// What should not happen; `why` says more.
  case `internal`
}
