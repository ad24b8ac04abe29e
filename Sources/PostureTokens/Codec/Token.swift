public import Posture

/// A token whose signature is good; what its claims are worth depends on whose key it was.
public struct Token: Hashable, Sendable {
  public let kind: TokenKind
  public let kid: String
  public let claims: JSON
  /// The bytes that the claims were read from.
  public let payload: [UInt8]
  /// As it was received.
  public let bytes: [UInt8]

  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// SHA-256 of the payload, base64url: what makes two tokens the same, for a signature has many spellings.
  public var digest: String { SHA256.text(of: payload) }
}

/// A token of the right shape. Nothing in it is to be believed yet.
public struct UnverifiedToken: Sendable {
  public let kind: TokenKind
  public let kid: String
  let bytes: [UInt8]
  let payload: [UInt8]
  let signature: [UInt8]
  /// How many of the bytes were signed.
  let signed: Int

  /// The claims are parsed only once the signature is known to be good.
  public func verified(
    by key: PublicKey, limits: JSONParser.Limits = .message
  ) throws(TokenError) -> Token {
    try verify(by: key)
    return Token(kind: kind, kid: kid, claims: try unverifiedClaims(limits), payload: payload, bytes: bytes)
  }

  /// Throws unless it is `key` that signed this.
  func verify(by key: PublicKey) throws(TokenError) {
    guard key.kid == kid else { throw TokenError(.unknownKey, kid) }
    let isGood = key.verifies(signature[...], of: bytes[..<signed], isFrequent: kind == .credential)
    guard isGood else { throw TokenError(.signature) }
  }

  /// For tokens that bring the credential of their signer along, and those that were verified before they were kept.
  public func unverifiedClaims(_ limits: JSONParser.Limits = .message) throws(TokenError) -> JSON {
    let claims: JSON
    do throws(JSONError) { claims = try JSONParser.parse(payload, limits: limits) } catch {
      throw TokenError(.payload, error.description)
    }
    guard claims.members != nil else { throw TokenError(.payload, "not an object") }
    return claims
  }

  /// The claims of a kind that names its own signer, read before they are believed.
  func unverifiedClaims<Claims>(_ read: (JSON) throws(ClaimError) -> Claims) throws(TokenError) -> Claims {
    try Token.read(unverifiedClaims(), read)
  }
}

extension Token {
  /// The claims as those of its kind.
  public func claims<Claims>(_ read: (JSON) throws(ClaimError) -> Claims) throws(TokenError) -> Claims {
    try Self.read(claims, read)
  }

  static func read<Claims>(_ json: JSON, _ read: (JSON) throws(ClaimError) -> Claims) throws(TokenError) -> Claims {
    do throws(ClaimError) { return try read(json) } catch { throw TokenError(error) }
  }
}
