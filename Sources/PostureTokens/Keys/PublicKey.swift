public import Posture

/// A public key on P-256 that is known to be a point of the curve.
public struct PublicKey: Hashable, Sendable {
  public let jwk: JWK
  /// RFC 7638 thumbprint, SHA-256, base64url: the `kid` of every token of this key.
  public let kid: String

  public init(_ jwk: JWK) throws(KeyError) {
    try Verifier.check(jwk)
    self.jwk = jwk
    kid = Self.thumbprint(of: jwk)
  }

  public static func thumbprint(of jwk: JWK) -> String { SHA256.text(of: jwk.json.bytes) }

  /// Whether `signature` (r and s, 64 bytes) is this key's over the SHA-256 of `bytes`.
  public func verifies(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
    verifies(signature[...], of: bytes[...])
  }

  /// `isFrequent`: it is one of the few keys that sign for many.
  func verifies(_ signature: ArraySlice<UInt8>, of bytes: ArraySlice<UInt8>, isFrequent: Bool = false) -> Bool {
    let digest = SHA256.digest(of: bytes)
    return isFrequent
      ? FrequentKeys.verifies(signature, digest: digest, by: self)
      : Verifier.verifies(signature, digest: digest, by: jwk)
  }

  public static func == (left: PublicKey, right: PublicKey) -> Bool { left.jwk == right.jwk }
  public func hash(into hasher: inout Hasher) { hasher.combine(jwk) }
}
