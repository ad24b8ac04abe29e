/// `posture-renewal+jwt`: an issuer's answer to the request that a device publishes before its credential ends. No secret
/// in it.
public struct RenewalClaims: Hashable, Sendable {
  public var issuer: Party
  public var subject: Party
  public var issuedAt: Int64
  /// `posture-credential+jwt`, for the key that the device has.
  public var credential: String
  /// PEM, for the TLS key of the request.
  public var tlsCertificate: String
  /// The issuer's own credential, which the root signed.
  public var issuerCredential: String

  public init(
    issuer: Party, subject: Party, issuedAt: Int64, credential: String, tlsCertificate: String,
    issuerCredential: String
  ) {
    self.issuer = issuer
    self.subject = subject
    self.issuedAt = issuedAt
    self.credential = credential
    self.tlsCertificate = tlsCertificate
    self.issuerCredential = issuerCredential
  }

  public init(claims: JSON) throws(ClaimError) {
    let reader = try ClaimReader(claims)
    issuer = try reader.party("iss")
    subject = try reader.party("sub")
    guard subject.site == issuer.site else { throw reader.error(.conflict, "sub") }
    issuedAt = try reader.date("iat")
    credential = try reader.text("credential", 1...TokenKind.credential.sizeLimit)
    tlsCertificate = try reader.text("tls_certificate", 1...4_096)
    issuerCredential = try reader.text("issuer", 1...TokenKind.credential.sizeLimit)
  }

  public var claims: JSON {
    [
      "iss": .string(issuer.urn), "sub": .string(subject.urn), "iat": .integer(issuedAt),
      "credential": .string(credential), "tls_certificate": .string(tlsCertificate),
      "issuer": .string(issuerCredential),
    ]
  }
}
