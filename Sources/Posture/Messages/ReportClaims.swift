/// `eat+jwt`: the report, an Entity Attestation Token (RFC 9711) as JWT under one full profile.
public struct ReportClaims: Hashable, Sendable {
  public static let profile = "tag:posture.example,2026:eat:1"
  /// The system name in `measres`.
  public static let system = "posture/1"
  public static let software = "posture-agent"
  /// 31 days in seconds.
  public static let longestLife: Int64 = 31 * 86_400
  /// Nonces that one report may echo: with evidence as large as it may be, the token still is within its limit.
  public static let mostNonces = 24

  /// How far the chain of events has got, so that a withheld tail shows.
  public struct ChainHead: Hashable, Sendable {
    public var chain: String
    /// 0 before the first event.
    public var number: Int64
    /// SHA-256 (base64url) of the payload of event ``number``; nil before the first.
    public var digest: String?

    public init(chain: String, number: Int64, digest: String?) {
      self.chain = chain
      self.number = number
      self.digest = digest
    }
  }

  public struct PolicyReference: Hashable, Sendable {
    public var name: String
    /// SHA-256 (base64url) of the bytes of ``Policy/json``.
    public var digest: String

    public init(name: String, digest: String) {
      self.name = name
      self.digest = digest
    }
  }

  public struct Measurement: Hashable, Sendable {
    public var check: CheckName
    public var result: CheckResult

    public init(_ check: CheckName, _ result: CheckResult) {
      self.check = check
      self.result = result
    }
  }

  /// Whether every file that was read is watched for changes.
  public enum Watch: String, Sendable, CaseIterable {
    case complete
    /// The system's limit of watches is reached, or a file system does not tell (NFS): the rest is up to the schedule.
    case partial
    /// Only the schedule counts.
    case none
  }

  public var issuer: Party
  /// Base64url of 0x01 and 16 random bytes or more, for the life of the device.
  public var ueid: String
  public var issuedAt: Int64
  /// nil where the clock is not trusted.
  public var expires: Int64?
  public var nonces: [String]
  /// Base64url, new with each start of the machine.
  public var bootSeed: String
  public var bootCount: Int64?
  /// Seconds since the start of the machine.
  public var uptime: Int64
  /// Rises with each report of the key.
  public var sequence: Int64
  public var clock: ClockState
  public var cause: ReportCause
  /// The maker's Private Enterprise Number, where the configuration names one.
  public var oemID: Int64?
  public var softwareVersion: String
  public var keyProtection: KeyProtection
  public var chain: ChainHead
  /// Digest of the machine-id under a name of our own: tells clones of one disk apart, and says nothing else.
  public var machine: String?
  public var watch: Watch?
  public var policy: PolicyReference
  public var verdict: Verdict
  public var measurements: [Measurement]
  /// The document of `schemas/evidence.schema.json` as ``EvidenceClaim`` shortens it.
  public var evidence: JSON

  public init(
    issuer: Party, ueid: String, issuedAt: Int64, expires: Int64?, nonces: [String], bootSeed: String,
    bootCount: Int64? = nil, uptime: Int64, sequence: Int64, clock: ClockState, cause: ReportCause,
    oemID: Int64? = nil, softwareVersion: String = Release.version, keyProtection: KeyProtection, chain: ChainHead,
    machine: String? = nil, watch: Watch? = nil, policyDigest: String, evidence: Evidence
  ) {
    self.issuer = issuer
    self.ueid = ueid
    self.issuedAt = issuedAt
    self.expires = expires
    self.nonces = nonces
    self.bootSeed = bootSeed
    self.bootCount = bootCount
    self.uptime = uptime
    self.sequence = sequence
    self.clock = clock
    self.cause = cause
    self.oemID = oemID
    self.softwareVersion = softwareVersion
    self.keyProtection = keyProtection
    self.chain = chain
    self.machine = machine
    self.watch = watch
    policy = PolicyReference(name: evidence.policy, digest: policyDigest)
    verdict = evidence.verdict
    measurements = evidence.checks.map { Measurement($0.name, $0.result) }
    self.evidence = EvidenceClaim.json(of: evidence)
  }

  public subscript(check: CheckName) -> CheckResult? { measurements.first { $0.check == check }?.result }

  public var claims: JSON {
    .build { object in
      object("eat_profile", .string(Self.profile))
      object("iss", .string(issuer.urn))
      object("ueid", .string(ueid))
      object("iat", .integer(issuedAt))
      if let expires { object("exp", .integer(expires)) }
      if !nonces.isEmpty {
        object("eat_nonce", nonces.count == 1 ? .string(nonces[0]) : .array(nonces.map(JSON.string)))
      }
      object("bootseed", .string(bootSeed))
      if let bootCount { object("bootcount", .integer(bootCount)) }
      object("uptime", .integer(uptime))
      object("seq", .integer(sequence))
      object("clk", .string(clock.rawValue))
      object("cause", .string(cause.rawValue))
      if let oemID { object("oemid", .integer(oemID)) }
      object("swname", .string(Self.software))
      object("swversion", [.string(softwareVersion)])
      object("key_protection", .string(keyProtection.rawValue))
      object("chain", chain.claims)
      object("machine", optional: machine)
      object("watch", optional: watch?.rawValue)
      object("policy", ["name": .string(policy.name), "digest": .string(policy.digest)])
      object("verdict", .string(verdict.rawValue))
      object("measres", measres)
      object("evidence", evidence)
    }
  }

  private var measres: JSON {
    let rows = measurements.map { JSON.array([.string($0.check.rawValue), .string($0.result.rawValue)]) }
    return [[.string(Self.system), .array(rows)]]
  }
}

extension ReportClaims.ChainHead {
  init(_ reader: ClaimReader) throws(ClaimError) {
    chain = try reader.text("chain", 8...88)
    number = try reader.integer("eseq")
    digest = number == 0 ? nil : try reader.base64url("head", 43...43)
  }

  var claims: JSON {
    .build { object in
      object("chain", .string(chain))
      object("eseq", .integer(number))
      object("head", optional: digest)
    }
  }
}
