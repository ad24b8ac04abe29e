/// `posture-policy+jwt`: what a site, or a group of it, demands of its devices.
public struct PolicyClaims: Hashable, Sendable {
  /// 400 days in seconds.
  public static let longestLife: Int64 = 400 * 86_400

  /// nil: the root, the only one who may demand less than the built-in floor.
  public var issuer: Party?
  /// A site or a group.
  public var audience: Audience
  public var version: Int64
  public var issuedAt: Int64
  /// nil: until another one comes.
  public var expires: Int64?
  public var policy: Policy

  public init(
    issuer: Party?, audience: Audience, version: Int64, issuedAt: Int64, expires: Int64? = nil, policy: Policy
  ) {
    self.issuer = issuer
    self.audience = audience
    self.version = version
    self.issuedAt = issuedAt
    self.expires = expires
    self.policy = policy
  }

  public init(claims: JSON) throws(ClaimError) {
    let reader = try ClaimReader(claims)
    issuer = try reader.partyOrRoot("iss")
    audience = try reader.audience()
    guard audience.policyTopic != nil else { throw reader.error(.value, "aud") }
    if let issuer, issuer.site != audience.site { throw reader.error(.conflict, "aud") }
    version = try reader.integer("ver", in: 1...ClaimReader.counts.upperBound)
    issuedAt = try reader.date("iat")
    expires = try reader.optionalEnd(after: issuedAt, life: Self.longestLife)
    let json = try reader.value("policy")
    do throws(PolicyError) { policy = try Policy(json: json) } catch { throw reader.error(.value, "policy") }
  }

  public var claims: JSON {
    .build { object in
      object("iss", .string(issuer?.urn ?? Party.root))
      object("aud", .string(audience.urn))
      object("ver", .integer(version))
      object("iat", .integer(issuedAt))
      if let expires { object("exp", .integer(expires)) }
      object("policy", policy.json)
    }
  }
}
