public import Posture

/// A private key that makes ES256 signatures, wherever it lives.
public protocol SigningKey: Sendable {
  var publicKey: PublicKey { get }
  var protection: KeyProtection { get }
  /// r and s, big-endian, 32 bytes each, over the SHA-256 of `bytes`.
  func sign(_ bytes: [UInt8]) throws(KeyError) -> [UInt8]
}
