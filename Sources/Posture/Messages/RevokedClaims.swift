/// `posture-revoked+jwt`: one part of the list of device keys that are no longer good. Only monitors read it.
public struct RevokedClaims: Hashable, Sendable {
  public static let mostParts = 256
  /// Keys in one part, so that the token stays below ``TokenKind/sizeLimit``.
  public static let keysPerPart = 340

  public var issuer: Party
  /// The version of the whole list; the parts of two versions are never mixed.
  public var version: Int64
  /// From 0.
  public var part: Int
  public var parts: Int
  public var issuedAt: Int64
  /// kid of each key, in ascending order.
  public var keys: [String]
  /// The issuer's credential, which the root signed.
  public var issuerCredential: String

  public init(
    issuer: Party, version: Int64, part: Int, parts: Int, issuedAt: Int64, keys: [String], issuerCredential: String
  ) {
    self.issuer = issuer
    self.version = version
    self.part = part
    self.parts = parts
    self.issuedAt = issuedAt
    self.keys = keys
    self.issuerCredential = issuerCredential
  }

  public init(claims: JSON) throws(ClaimError) {
    let reader = try ClaimReader(claims)
    issuer = try reader.party("iss")
    version = try reader.integer("ver", in: 1...ClaimReader.counts.upperBound)
    parts = Int(try reader.integer("parts", in: 1...Int64(Self.mostParts)))
    part = Int(try reader.integer("part", in: 0...Int64(Self.mostParts - 1)))
    guard part < parts else { throw reader.error(.conflict, "part") }
    issuedAt = try reader.date("iat")
    keys = try reader.texts("keys", count: 0...Self.keysPerPart, bytes: 43...43)
    issuerCredential = try reader.text("issuer", 1...TokenKind.credential.sizeLimit)
  }

  public var claims: JSON {
    .build { object in
      object("iss", .string(issuer.urn))
      object("ver", .integer(version))
      object("part", .integer(Int64(part)))
      object("parts", .integer(Int64(parts)))
      object("iat", .integer(issuedAt))
      object("keys", .array(keys.map(JSON.string)))
      object("issuer", .string(issuerCredential))
    }
  }

  /// Where part `number` of a site's list is published: `revoked`, `revoked/1` ….
  public static func topic(_ site: Name, part number: Int) -> Topic {
    Topic(site, number == 0 ? .revoked : .revokedPart(number))
  }
}
