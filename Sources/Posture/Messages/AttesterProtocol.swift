/// What the courier may ask the attester: a closed list, so that a courier that was taken over gains nothing by it.
///
/// On the Unix socket each request and each answer is one frame: the length (4 bytes, big-endian), then that many bytes
/// of JSON. The attester answers in order.
public enum AttesterRequest: Hashable, Sendable {
  /// Examine (or join the examination that is running) and sign a report that echoes the nonces.
  case report(nonces: [String], cause: ReportCause)
  /// Signed events after this number that have not been acknowledged, oldest first.
  case events(after: Int64, limit: Int)
  /// The broker has taken every event up to this number.
  case acknowledge(eseq: Int64)
  /// A signed birth, and the signed will that belongs to it, for a new connection.
  case presence(connection: String)
  /// A signed line about a report under way.
  case progress(command: String, state: ProgressState)
  /// A signed refusal of a command.
  case refusal(command: String, controller: String, code: RefusalCode)
  /// A policy token of the broker: the attester verifies it by itself.
  case policy(token: String)
  /// A trust document of the broker: likewise.
  case trust(token: String)
  /// Answer as soon as something that was read has changed, or when the connection is closed.
  case watch
  case status
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
  /// Birth and will.
  case presence(birth: String, will: String)
  case events([NumberedToken])
  case done
  case changed
  case status(JSON)
  case failed(code: String, why: String)

  public struct NumberedToken: Hashable, Sendable {
    public var eseq: Int64
    public var token: String
    public init(eseq: Int64, token: String) {
      self.eseq = eseq
      self.token = token
    }
  }
}
