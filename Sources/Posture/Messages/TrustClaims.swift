/// `posture-trust+jwt`: whom the devices and monitors of a site obey and believe, as of version `ver`.
public struct TrustClaims: Hashable, Sendable {
  /// 400 days in seconds.
  public static let longestLife: Int64 = 400 * 86_400
  /// Controllers and policy signers of one site.
  public static let mostAuthorities = 64
  /// Rotations of the root that one document tells of.
  public static let mostRotations = 4
  /// Issuers, controllers and policy signers that one document takes back.
  public static let mostRevokedAuthorities = 128

  /// Which list of revoked device keys belongs to this document.
  public struct RevokedList: Hashable, Sendable {
    public var version: Int64
    public var parts: Int
    /// SHA-256, base64url, of the SHA-256 digests of the parts' payloads, one after the other.
    public var digest: String

    public init(version: Int64, parts: Int, digest: String) {
      self.version = version
      self.parts = parts
      self.digest = digest
    }
  }

  public var issuer: Party
  public var version: Int64
  public var issuedAt: Int64
  public var expires: Int64
  /// Controllers and policy signers.
  public var authorized: [Grant]
  /// Keys (kid) of issuers, controllers and policy signers that are no longer good.
  public var revokedAuthorities: [String]
  /// nil: no device key has been revoked.
  public var revokedList: RevokedList?
  /// Rotations of the root, oldest first: each a credential that the root before it signed.
  public var rootRotations: [String]
  /// The issuer's credential, which the root signed.
  public var issuerCredential: String

  public init(
    issuer: Party, version: Int64, issuedAt: Int64, expires: Int64, authorized: [Grant],
    revokedAuthorities: [String] = [], revokedList: RevokedList? = nil, rootRotations: [String] = [],
    issuerCredential: String
  ) {
    self.issuer = issuer
    self.version = version
    self.issuedAt = issuedAt
    self.expires = expires
    self.authorized = authorized
    self.revokedAuthorities = revokedAuthorities
    self.revokedList = revokedList
    self.rootRotations = rootRotations
    self.issuerCredential = issuerCredential
  }

  public init(claims: JSON) throws(ClaimError) {
    let reader = try ClaimReader(claims)
    issuer = try reader.party("iss")
    version = try reader.integer("ver", in: 1...ClaimReader.counts.upperBound)
    issuedAt = try reader.date("iat")
    expires = try reader.end(after: issuedAt, life: Self.longestLife)
    authorized = try Self.authorized(reader, site: issuer.site)
    revokedAuthorities = try reader.texts("revoked_authorities", count: 0...Self.mostRevokedAuthorities, bytes: 43...43)
    revokedList = try Self.revokedList(reader)
    rootRotations = try reader.texts(
      "root_rotations", count: 0...Self.mostRotations, bytes: 1...TokenKind.credential.sizeLimit)
    issuerCredential = try reader.text("issuer", 1...TokenKind.credential.sizeLimit)
  }

  private static func authorized(_ reader: ClaimReader, site: Name) throws(ClaimError) -> [Grant] {
    guard let rows = try reader.value("authorized").array else { throw reader.error(.type, "authorized") }
    guard rows.count <= mostAuthorities else { throw reader.error(.range, "authorized") }
    var grants: [Grant] = []
    for row in rows {
      let grant = try Grant(ClaimReader(row, in: "authorized"))
      guard grant.role == .controller || grant.role == .policy else { throw reader.error(.value, "authorized.role") }
      guard grant.subject?.site == site else { throw reader.error(.conflict, "authorized.sub") }
      grants.append(grant)
    }
    return grants
  }

  private static func revokedList(_ reader: ClaimReader) throws(ClaimError) -> RevokedList? {
    guard reader.optional("revoked") != nil else { return nil }
    let list = try reader.object("revoked")
    return RevokedList(
      version: try list.integer("ver", in: 1...ClaimReader.counts.upperBound),
      parts: Int(try list.integer("parts", in: 1...Int64(RevokedClaims.mostParts))),
      digest: try list.base64url("digest", 43...43))
  }

  public var claims: JSON {
    .build { object in
      object("iss", .string(issuer.urn))
      object("ver", .integer(version))
      object("iat", .integer(issuedAt))
      object("exp", .integer(expires))
      object("authorized", .array(authorized.map(\.claims)))
      object("revoked_authorities", .array(revokedAuthorities.map(JSON.string)))
      if let list = revokedList {
        object(
          "revoked",
          ["ver": .integer(list.version), "parts": .integer(Int64(list.parts)), "digest": .string(list.digest)])
      }
      object("root_rotations", .array(rootRotations.map(JSON.string)))
      object("issuer", .string(issuerCredential))
    }
  }
}
