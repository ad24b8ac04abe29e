import COpenSSL
import Posture
import Synchronization

/// Verifies signatures for any number of public keys.
///
/// OpenSSL's object for one key takes 2.7 KB, and 25 µs to be made; to put another point into it takes 1 µs. So there are
/// only as many as verify at the same time, and a fleet's keys are their coordinates.
final class Verifier: @unchecked Sendable {
  // One that is not in the pool is used only by the thread that has taken it.
  private static let pool = Mutex<[Verifier]>([])

  private let key: ECKey
  /// An EVP_PKEY_CTX; it looks at the point anew for each signature.
  private let context: OpaquePointer
  /// The point that is in it; nil after one that was none of the curve.
  private var point: JWK?

  private init(_ point: JWK) throws(KeyError) {
    key = try ECKey(point: point)
    guard let context = EVP_PKEY_CTX_new(key.pkey, nil) else { throw .library() }
    guard EVP_PKEY_verify_init(context) == 1 else {
      EVP_PKEY_CTX_free(context)
      throw .library()
    }
    self.context = context
    self.point = point
  }

  deinit { EVP_PKEY_CTX_free(context) }

  /// Throws where the coordinates are those of no point of the curve.
  static func check(_ point: JWK) throws(KeyError) { _ = try with(point) { _ in true } }

  /// Whether `signature` (r and s, 64 bytes) is this key's.
  static func verifies(_ signature: ArraySlice<UInt8>, digest: [UInt8], by point: JWK) -> Bool {
    guard signature.count == 64 else { return false }
    let der = ECKey.der(signature)
    return (try? with(point) { $0.verifies(der, digest) }) ?? false
  }

  private static func with(_ point: JWK, _ body: (Verifier) -> Bool) throws(KeyError) -> Bool {
    let verifier: Verifier
    if let free = pool.withLock({ $0.popLast() }) { verifier = free } else { verifier = try Verifier(point) }
    defer { pool.withLock { $0.append(verifier) } }
    try verifier.load(point)
    return body(verifier)
  }

  private func load(_ point: JWK) throws(KeyError) {
    if self.point == point { return }
    self.point = nil
    let bytes = [0x04] + point.x + point.y
    guard EVP_PKEY_set1_encoded_public_key(key.pkey, bytes, bytes.count) == 1 else {
      ERR_clear_error()
      throw KeyError(.point)
    }
    self.point = point
  }

  private func verifies(_ der: [UInt8], _ digest: [UInt8]) -> Bool {
    let result = EVP_PKEY_verify(context, der, der.count, digest, digest.count)
    if result != 1 { ERR_clear_error() }
    return result == 1
  }
}
