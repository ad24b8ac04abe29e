/// The one file that an enrolment gives back: all a device, or an operator's machine, needs to take part. No secret in it.
public struct EnrolmentBundle: Hashable, Sendable {
  public static let schema = "posture-bundle/1"

  /// Where the broker listens for this party.
  public struct Broker: Hashable, Sendable {
    public var host: String
    public var port: Int
    /// The name in the broker's certificate.
    public var serverName: String

    public init(host: String, port: Int, serverName: String) {
      self.host = host
      self.port = port
      self.serverName = serverName
    }
  }

  public var party: Party
  public var role: Role
  public var groups: [Name]
  /// `posture-credential+jwt`.
  public var credential: String
  /// PEM.
  public var tlsCertificate: String
  /// PEM: the transport CA.
  public var tlsAuthority: String
  /// The pinned root.
  public var root: JWK
  /// `posture-trust+jwt` as of the enrolment; nil where none has been published yet.
  public var trust: String?
  public var broker: Broker

  public init(
    party: Party, role: Role, groups: [Name], credential: String, tlsCertificate: String, tlsAuthority: String,
    root: JWK, trust: String?, broker: Broker
  ) {
    self.party = party
    self.role = role
    self.groups = groups
    self.credential = credential
    self.tlsCertificate = tlsCertificate
    self.tlsAuthority = tlsAuthority
    self.root = root
    self.trust = trust
    self.broker = broker
  }

  public init(json: JSON) throws(ClaimError) {
    let reader = try ClaimReader(json)
    guard try reader.text("bundle") == Self.schema else { throw reader.error(.value, "bundle") }
    party = try reader.party("party")
    role = try reader.word("role")
    groups = try reader.texts("groups", count: 0...32, bytes: 1...63).compactMap { Name($0) }
    credential = try reader.text("credential", 1...TokenKind.credential.sizeLimit)
    tlsCertificate = try reader.text("tlsCertificate", 1...16_384)
    tlsAuthority = try reader.text("tlsAuthority", 1...16_384)
    root = try JWK(claims: try reader.value("root"), in: "root")
    trust = try reader.optionalText("trust", 1...TokenKind.trust.sizeLimit)
    let broker = try reader.object("broker")
    self.broker = Broker(
      host: try broker.text("host", 1...255), port: Int(try broker.integer("port", in: 0...65_535)),
      serverName: try broker.text("serverName", 1...255))
  }

  public var json: JSON {
    .build { object in
      object("bundle", .string(Self.schema))
      object("party", .string(party.urn))
      object("role", .string(role.rawValue))
      object("groups", .array(groups.map { .string($0.description) }))
      object("credential", .string(credential))
      object("tlsCertificate", .string(tlsCertificate))
      object("tlsAuthority", .string(tlsAuthority))
      object("root", root.json)
      object("trust", optional: trust)
      object(
        "broker",
        ["host": .string(broker.host), "port": .integer(Int64(broker.port)), "serverName": .string(broker.serverName)])
    }
  }
}
