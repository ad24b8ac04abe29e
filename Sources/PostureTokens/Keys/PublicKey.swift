public import Posture

/// A public key on P-256 that is known to be a point of the curve.
public struct PublicKey: Hashable, Sendable {
  public let jwk: JWK
  /// RFC 7638 thumbprint, SHA-256, base64url: the `kid` of every token of this key.
  public let kid: String
  private let key: ECKey

  public init(_ jwk: JWK) throws(KeyError) { self.init(jwk, try ECKey(point: jwk)) }

  init(_ jwk: JWK, _ key: ECKey) {
    self.jwk = jwk
    self.key = key
    kid = Self.thumbprint(of: jwk)
  }

  public static func thumbprint(of jwk: JWK) -> String { SHA256.text(of: jwk.json.bytes) }

  /// Whether `signature` (r and s, 64 bytes) is this key's over the SHA-256 of `bytes`.
  public func verifies(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
    verifies(signature[...], of: bytes[...])
  }

  func verifies(_ signature: ArraySlice<UInt8>, of bytes: ArraySlice<UInt8>) -> Bool {
    key.verifies(signature, digest: SHA256.digest(of: bytes))
  }

  public static func == (left: PublicKey, right: PublicKey) -> Bool { left.jwk == right.jwk }
  public func hash(into hasher: inout Hasher) { hasher.combine(jwk) }
}
