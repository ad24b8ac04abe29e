/// `posture-request+jwt`: a device asks to be enrolled. Signed by the key that the request names, which proves only that
/// the device holds it.
public struct EnrolmentRequestClaims: Hashable, Sendable {
  /// The name that the device would like; the issuer decides.
  public var name: Name?
  public var role: Role
  public var issuedAt: Int64
  /// The key that will sign reports.
  public var key: JWK
  public var keyProtection: KeyProtection
  /// PKCS #10 request (DER) for the TLS certificate.
  public var tlsRequest: [UInt8]
  /// For the eyes of whoever approves it.
  public var host: String?

  public init(
    name: Name?, role: Role = .device, issuedAt: Int64, key: JWK, keyProtection: KeyProtection,
    tlsRequest: [UInt8], host: String? = nil
  ) {
    self.name = name
    self.role = role
    self.issuedAt = issuedAt
    self.key = key
    self.keyProtection = keyProtection
    self.tlsRequest = tlsRequest
    self.host = host
  }

  public init(claims: JSON) throws(ClaimError) {
    let reader = try ClaimReader(claims)
    name = reader.optional("name") == nil ? nil : try reader.name("name")
    role = try reader.word("role")
    guard role != .root, role != .issuer else { throw reader.error(.value, "role") }
    issuedAt = try reader.date("iat")
    let confirmation = try reader.object("cnf")
    key = try JWK(claims: try confirmation.value("jwk"), in: "cnf.jwk")
    keyProtection = try reader.word("key_protection")
    guard let bytes = Base64URL.decode(try reader.text("tls_request", 1...4_096)) else {
      throw reader.error(.value, "tls_request")
    }
    tlsRequest = bytes
    host = try reader.optionalText("host", 1...255)
  }

  public var claims: JSON {
    .build { object in
      object("name", optional: name?.description)
      object("role", .string(role.rawValue))
      object("iat", .integer(issuedAt))
      object("cnf", ["jwk": key.json])
      object("key_protection", .string(keyProtection.rawValue))
      object("tls_request", .string(Base64URL.encode(tlsRequest)))
      object("host", optional: host)
    }
  }
}
