import Posture

/// What the next trust document of a site will say: `trust/state.json`, in the hands of the issuer.
public struct TrustState: Hashable, Sendable {
  static let schema = "posture-trust-state/1"

  /// A device key that is no longer good, until its credential would have ended anyway.
  public struct RevokedKey: Hashable, Sendable {
    public var kid: String
    public var expires: Int64
    /// For people.
    public var name: String
  }

  /// Of the document that was signed last; 0 before the first.
  public var version: Int64 = 0
  /// Seconds that a document is good for.
  public var life: Int64
  /// Credentials of controllers and policy signers.
  public var authorized: [String] = []
  public var revokedAuthorities: [String] = []
  public var revokedKeys: [RevokedKey] = []
  /// Version and number of parts of the list of revoked keys that was signed last.
  public var revokedVersion: Int64 = 0
  public var revokedParts = 0
  public var rotations: [String] = []

  public init(life: Int64) { self.life = life }

  init(json: JSON) throws(ClaimError) {
    guard json["schema"]?.string == Self.schema else { throw ClaimError(.value, "schema") }
    version = try Self.number(json, "version")
    life = try Self.number(json, "life")
    authorized = try Self.texts(json, "authorized")
    revokedAuthorities = try Self.texts(json, "revokedAuthorities")
    revokedVersion = try Self.number(json, "revokedVersion")
    revokedParts = Int(try Self.number(json, "revokedParts"))
    rotations = try Self.texts(json, "rotations")
    for row in json["revokedKeys"]?.array ?? [] {
      guard let kid = row["kid"]?.string, let expires = row["expires"]?.integer, let name = row["name"]?.string else {
        throw ClaimError(.type, "revokedKeys")
      }
      revokedKeys.append(RevokedKey(kid: kid, expires: expires, name: name))
    }
  }

  private static func number(_ json: JSON, _ name: String) throws(ClaimError) -> Int64 {
    guard let number = json[name]?.integer, number >= 0 else { throw ClaimError(.type, name) }
    return number
  }

  private static func texts(_ json: JSON, _ name: String) throws(ClaimError) -> [String] {
    guard let texts = json[name]?.strings else { throw ClaimError(.type, name) }
    return texts
  }

  var json: JSON {
    [
      "schema": .string(Self.schema), "version": .integer(version), "life": .integer(life),
      "authorized": .array(authorized.map(JSON.string)),
      "revokedAuthorities": .array(revokedAuthorities.map(JSON.string)),
      "revokedKeys": .array(
        revokedKeys.map { ["kid": .string($0.kid), "expires": .integer($0.expires), "name": .string($0.name)] }),
      "revokedVersion": .integer(revokedVersion), "revokedParts": .count(revokedParts),
      "rotations": .array(rotations.map(JSON.string)),
    ]
  }
}
