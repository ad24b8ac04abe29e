/// `posture-credential+jwt`: an issuer says whose a key is (RFC 7800 `cnf`). The root says it of issuers, and of the root
/// that follows it.
public struct CredentialClaims: Hashable, Sendable {
  /// nil: the root.
  public var issuer: Party?
  public var issuedAt: Int64
  public var grant: Grant
  public var keyProtection: KeyProtection
  /// The issuer's own credential, which the root signed; nil where the root is the issuer.
  public var issuerCredential: String?
  /// In the rotation of a root: until when the one before it stays good. Seconds since the epoch.
  public var previousUntil: Int64?

  public init(
    issuer: Party?, issuedAt: Int64, grant: Grant, keyProtection: KeyProtection = .file,
    issuerCredential: String? = nil, previousUntil: Int64? = nil
  ) {
    self.issuer = issuer
    self.issuedAt = issuedAt
    self.grant = grant
    self.keyProtection = keyProtection
    self.issuerCredential = issuerCredential
    self.previousUntil = previousUntil
  }

  public init(claims: JSON) throws(ClaimError) {
    let reader = try ClaimReader(claims)
    issuer = try reader.partyOrRoot("iss")
    issuedAt = try reader.date("iat")
    grant = try Grant(reader)
    keyProtection = try reader.word("key_protection")
    issuerCredential = try reader.optionalText("issuer", 1...TokenKind.credential.sizeLimit)
    previousUntil =
      grant.role == .root ? try reader.end("previous_until", after: grant.notBefore, life: Grant.longestLife) : nil
    let isOfRoot = grant.role == .root || grant.role == .issuer
    guard (issuer == nil) == isOfRoot else { throw reader.error(.conflict, "iss") }
    guard (issuerCredential == nil) == isOfRoot else {
      throw reader.error(isOfRoot ? .forbidden : .missing, "issuer")
    }
    if let issuer { guard issuer.site == grant.subject?.site else { throw reader.error(.conflict, "sub") } }
  }

  public var claims: JSON {
    .build { object in
      object("iss", .string(issuer?.urn ?? Party.root))
      object("iat", .integer(issuedAt))
      grant.add(to: &object)
      object("key_protection", .string(keyProtection.rawValue))
      if let previousUntil { object("previous_until", .integer(previousUntil)) }
      object("issuer", optional: issuerCredential)
    }
  }
}
