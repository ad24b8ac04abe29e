public import Posture

/// What a verified report says, as far as the fleet keeps it in memory; the signed original keeps the rest.
public struct ReportFacts: Hashable, Sendable {
  public struct Result: Hashable, Sendable {
    public var check: CheckName
    public var result: CheckResult
    public var isRequired: Bool

    public init(_ check: CheckName, _ result: CheckResult, isRequired: Bool) {
      self.check = check
      self.result = result
      self.isRequired = isRequired
    }
  }

  /// A finding in short.
  public struct Brief: Hashable, Sendable {
    public var code: String
    public var severity: Finding.Severity
    public var subject: String
    public var observed: String

    public init(code: String, severity: Finding.Severity, subject: String, observed: String) {
      self.code = code
      self.severity = severity
      self.subject = subject
      self.observed = observed
    }

    /// `openEntry alice: agetty --autologin alice`.
    var words: String { "\(code)\(subject == "*" ? "" : " \(subject)"): \(observed)" }
  }

  public var kid: String
  /// When the credential of this key was issued: orders the keys of one device.
  public var keyIssued: Int64
  public var seq: Int64
  public var digest: String
  public var issued: Int64
  /// nil where the device's clock is not trusted.
  public var expires: Int64?
  public var verdict: Verdict
  public var policy: String
  public var policyDigest: String?
  public var results: [Result]
  /// Worst first.
  public var findings: [Brief]
  /// What keeps the verdict unknown: required checks without an answer, each with its reason, in words.
  public var unanswered: [String]
  /// What tells one machine from another under the same key.
  public var machine: String?
  /// New with each start of the machine.
  public var boot: String?
  public var head: ChainHead?
  public var nonces: [String]

  public init(
    kid: String, keyIssued: Int64, seq: Int64, digest: String, issued: Int64, expires: Int64?, verdict: Verdict,
    policy: String, policyDigest: String? = nil, results: [Result] = [], findings: [Brief] = [],
    unanswered: [String] = [], machine: String? = nil, boot: String? = nil, head: ChainHead? = nil,
    nonces: [String] = []
  ) {
    self.kid = kid
    self.keyIssued = keyIssued
    self.seq = seq
    self.digest = digest
    self.issued = issued
    self.expires = expires
    self.verdict = verdict
    self.policy = policy
    self.policyDigest = policyDigest
    self.results = results
    self.findings = findings
    self.unanswered = unanswered
    self.machine = machine
    self.boot = boot
    self.head = head
    self.nonces = nonces
  }

  /// Order of reports: by key, then by number. Clocks and boots have no say.
  func isNewer(than other: ReportFacts) -> Bool {
    kid == other.kid ? seq > other.seq : (keyIssued, kid) > (other.keyIssued, other.kid)
  }
}

/// What a verified presence message says.
public struct PresenceFacts: Hashable, Sendable {
  public var kid: String
  /// Random id of the connection.
  public var connection: String
  /// Number of the connection, rising.
  public var number: Int64
  public var isOnline: Bool
  public var issued: Int64

  public init(kid: String, connection: String, number: Int64, isOnline: Bool, issued: Int64 = 0) {
    self.kid = kid
    self.connection = connection
    self.number = number
    self.isOnline = isOnline
    self.issued = issued
  }
}

/// What a verified event says.
public struct EventFacts: Hashable, Sendable {
  public var kid: String
  public var chain: String
  public var link: EventLink
  public var issued: Int64
  /// The verdict from then on, where the event is a change.
  public var verdict: Verdict?

  public init(kid: String, chain: String, link: EventLink, issued: Int64, verdict: Verdict?) {
    self.kid = kid
    self.chain = chain
    self.link = link
    self.issued = issued
    self.verdict = verdict
  }
}

/// One thing that was learnt about one device.
public enum Observation: Hashable, Sendable {
  /// Its credential: enrolled with this key until then.
  case enrolled(kid: String, issued: Int64, expires: Int64, groups: [String])
  /// `isRetained`: the broker kept it; `isProven`: it echoes a nonce that was sent a moment ago.
  case report(ReportFacts, isRetained: Bool, isProven: Bool)
  case presence(PresenceFacts)
  case event(EventFacts)
  /// A message waits for the credential of its key (`true`), or none does any more.
  case waiting(Bool)
  /// A message on the report topic (`onReport`) or another was refused.
  case rejected(code: String, onReport: Bool)
  /// The history knows the verdict from then on; `isSeen`: it holds the report before that, too.
  case verdict(Verdict, since: Int64, isSeen: Bool)
  /// The history holds a report with this number.
  case stored(kid: String, seq: Int64)
  /// The history holds another message under a number of this key.
  case contradicted(kid: String)
  /// The history holds a breach that nobody has accepted yet.
  case breached(OpenBreach)
  /// An operator has looked into the broken chain or the contradiction.
  case acknowledged
}
