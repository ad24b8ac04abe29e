/// `posture-event+jwt`: one link of the chain of what changed on a device.
public struct EventClaims: Hashable, Sendable {
  public enum Body: Hashable, Sendable {
    /// The verdict or the findings are no longer those of the report before.
    case change(Change)
    /// `first` up to this event's own number were lost in an overflow; the last of them had the digest `head`.
    case gap(first: Int64, head: String)
    /// A new chain, and why.
    case start(StartReason)
  }

  public enum StartReason: String, Sendable, CaseIterable {
    case enrolled, newKey, damagedStore, lostStore
  }

  public struct Change: Hashable, Sendable {
    /// nil: the first report of all.
    public var from: Verdict?
    public var to: Verdict
    public var policy: String
    /// The `seq` of the report that shows it.
    public var report: Int64
    public var appeared: [Brief]
    public var resolved: [Brief]
    /// Findings that did not fit.
    public var leftOut: Int64

    public init(
      from: Verdict?, to: Verdict, policy: String, report: Int64, appeared: [Brief], resolved: [Brief],
      leftOut: Int64 = 0
    ) {
      self.from = from
      self.to = to
      self.policy = policy
      self.report = report
      self.appeared = appeared
      self.resolved = resolved
      self.leftOut = leftOut
    }
  }

  /// What identifies a finding, without its evidence.
  public struct Brief: Hashable, Sendable {
    public var code: String
    public var check: CheckName
    public var subject: String
    public var door: String?

    public init(code: String, check: CheckName, subject: String, door: String? = nil) {
      self.code = code
      self.check = check
      self.subject = subject
      self.door = door
    }

    public init(_ finding: Finding) {
      self.init(code: finding.code, check: finding.check, subject: finding.subject, door: finding.door)
    }
  }

  /// Findings that one event may name, in each of its two lists.
  public static let mostFindings = 32

  public var issuer: Party
  public var issuedAt: Int64
  public var clock: ClockState
  /// Random id of the chain.
  public var chain: String
  /// From 1 in each chain.
  public var number: Int64
  /// SHA-256 (base64url) of the payload of the event before; nil for the first of a chain.
  public var previous: String?
  public var body: Body

  public init(
    issuer: Party, issuedAt: Int64, clock: ClockState, chain: String, number: Int64, previous: String?, body: Body
  ) {
    self.issuer = issuer
    self.issuedAt = issuedAt
    self.clock = clock
    self.chain = chain
    self.number = number
    self.previous = previous
    self.body = body
  }

  public init(claims: JSON) throws(ClaimError) {
    let reader = try ClaimReader(claims)
    issuer = try reader.party("iss")
    issuedAt = try reader.date("iat")
    clock = try reader.word("clk")
    chain = try reader.text("chain", 8...88)
    number = try reader.integer("eseq", in: 1...ClaimReader.counts.upperBound)
    previous = reader.optional("prev") == nil ? nil : try reader.base64url("prev", 43...43)
    body = try Body(reader, number: number)
    let isFirst: Bool
    switch body {
    case .gap(let first, _): isFirst = first == 1
    case .start, .change: isFirst = number == 1
    }
    guard (previous == nil) == isFirst else { throw reader.error(.conflict, "prev") }
  }

  public var claims: JSON {
    .build { object in
      object("iss", .string(issuer.urn))
      object("iat", .integer(issuedAt))
      object("clk", .string(clock.rawValue))
      object("chain", .string(chain))
      object("eseq", .integer(number))
      object("prev", optional: previous)
      body.add(to: &object)
    }
  }
}

extension EventClaims.Body {
  private enum Kind: String { case change, gap, start }

  init(_ reader: ClaimReader, number: Int64) throws(ClaimError) {
    switch try reader.word("event", Kind.self) {
    case .change: self = .change(try EventClaims.Change(reader.object("change")))
    case .start:
      guard number == 1 else { throw reader.error(.conflict, "eseq") }
      self = .start(try reader.word("reason"))
    case .gap:
      let first = try reader.integer("first", in: 1...ClaimReader.counts.upperBound)
      guard first <= number else { throw reader.error(.conflict, "first") }
      self = .gap(first: first, head: try reader.base64url("head", 43...43))
    }
  }

  func add(to object: inout JSONBuilder) {
    switch self {
    case .change(let change):
      object("event", "change")
      object("change", change.claims)
    case .start(let reason):
      object("event", "start")
      object("reason", .string(reason.rawValue))
    case .gap(let first, let head):
      object("event", "gap")
      object("first", .integer(first))
      object("head", .string(head))
    }
  }
}

extension EventClaims.Change {
  init(_ reader: ClaimReader) throws(ClaimError) {
    from = try reader.optionalWord("from")
    to = try reader.word("to")
    policy = try reader.text("policy", 1...64)
    report = try reader.integer("seq")
    appeared = try Self.briefs(reader, "appeared")
    resolved = try Self.briefs(reader, "resolved")
    leftOut = try reader.optionalInteger("left_out") ?? 0
  }

  private static func briefs(_ reader: ClaimReader, _ name: String) throws(ClaimError) -> [EventClaims.Brief] {
    guard let rows = try reader.value(name).array else { throw reader.error(.type, name) }
    guard rows.count <= EventClaims.mostFindings else { throw reader.error(.range, name) }
    var briefs: [EventClaims.Brief] = []
    for row in rows { briefs.append(try EventClaims.Brief(ClaimReader(row, in: "change.\(name)"))) }
    return briefs
  }

  var claims: JSON {
    .build { object in
      object("from", optional: from?.rawValue)
      object("to", .string(to.rawValue))
      object("policy", .string(policy))
      object("seq", .integer(report))
      object("appeared", .array(appeared.map(\.claims)))
      object("resolved", .array(resolved.map(\.claims)))
      if leftOut > 0 { object("left_out", .integer(leftOut)) }
    }
  }
}

extension EventClaims.Brief {
  init(_ reader: ClaimReader) throws(ClaimError) {
    code = try reader.text("code", 1...64)
    check = try reader.word("check")
    subject = try reader.text("subject", 1...256)
    door = try reader.optionalText("door", 1...256)
  }

  var claims: JSON {
    .build { object in
      object("code", .string(code))
      object("check", .string(check.rawValue))
      object("subject", .string(subject))
      object("door", optional: door)
    }
  }
}
