/// What a key may do. `root` only in a rotation that the root before it signed.
public enum Role: String, Sendable, CaseIterable {
  case root, issuer, policy, controller, monitor, device
}

/// Where a private key lives.
public enum KeyProtection: String, Sendable, CaseIterable {
  case file, tpm
}

/// A public key on the curve P-256 as RFC 7517 writes it; whether the point lies on the curve is not checked here.
public struct JWK: Hashable, Sendable {
  /// Coordinates, big-endian, 32 bytes each.
  public let x: [UInt8]
  public let y: [UInt8]

  public init?(x: [UInt8], y: [UInt8]) {
    guard x.count == 32, y.count == 32 else { return nil }
    self.x = x
    self.y = y
  }

  /// Exactly `kty`, `crv`, `x` and `y`: a `kid` or `alg` beside them could contradict them.
  public init(claims: JSON, in claim: String = "jwk") throws(ClaimError) {
    let reader = try ClaimReader(claims, in: claim)
    guard try reader.text("kty") == "EC" else { throw reader.error(.value, "kty") }
    guard try reader.text("crv") == "P-256" else { throw reader.error(.value, "crv") }
    guard claims.members?.count == 4 else { throw ClaimError(.forbidden, claim) }
    x = try Self.coordinate(reader, "x")
    y = try Self.coordinate(reader, "y")
  }

  private static func coordinate(_ reader: ClaimReader, _ name: String) throws(ClaimError) -> [UInt8] {
    guard let bytes = Base64URL.decode(try reader.text(name, 43...43)) else { throw reader.error(.value, name) }
    return bytes
  }

  /// Members in the order that RFC 7638 takes the thumbprint of.
  public var json: JSON {
    [
      "crv": "P-256", "kty": "EC", "x": .string(Base64URL.encode(x)), "y": .string(Base64URL.encode(y)),
    ]
  }
}

/// What an issuer says of a key: whose it is, and what it may do, from when until when.
public struct Grant: Hashable, Sendable {
  /// Ten years, in seconds: the longest that a key may be good for.
  public static let longestLife: Int64 = 3_660 * 86_400

  /// nil: a root.
  public var subject: Party?
  public var role: Role
  public var groups: [Name]
  public var key: JWK
  /// Seconds since the epoch.
  public var notBefore: Int64
  public var expires: Int64

  public init(
    subject: Party?, role: Role, groups: [Name] = [], key: JWK, notBefore: Int64, expires: Int64
  ) {
    self.subject = subject
    self.role = role
    self.groups = groups
    self.key = key
    self.notBefore = notBefore
    self.expires = expires
  }

  public init(claims: JSON) throws(ClaimError) { try self.init(ClaimReader(claims)) }

  init(_ reader: ClaimReader) throws(ClaimError) {
    subject = try reader.partyOrRoot("sub")
    role = try reader.word("role")
    guard (subject == nil) == (role == .root) else { throw reader.error(.conflict, "role") }
    groups = try Self.groups(reader)
    let confirmation = try reader.object("cnf")
    key = try JWK(claims: try confirmation.value("jwk"), in: "cnf.jwk")
    notBefore = try reader.date("nbf")
    expires = try reader.end(after: notBefore, life: Self.longestLife)
  }

  private static func groups(_ reader: ClaimReader) throws(ClaimError) -> [Name] {
    guard reader.optional("groups") != nil else { return [] }
    let texts = try reader.texts("groups", count: 0...32, bytes: 1...63)
    let names = texts.compactMap { Name($0) }
    guard names.count == texts.count, Set(names).count == names.count else { throw reader.error(.value, "groups") }
    return names
  }

  public var claims: JSON { .build { add(to: &$0) } }

  func add(to object: inout JSONBuilder) {
    object("sub", .string(subject?.urn ?? Party.root))
    object("role", .string(role.rawValue))
    if !groups.isEmpty { object("groups", .array(groups.map { .string($0.description) })) }
    object("cnf", ["jwk": key.json])
    object("nbf", .integer(notBefore))
    object("exp", .integer(expires))
  }
}
