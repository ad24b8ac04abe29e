import COpenSSL
import Posture
import Synchronization

/// Verifies ES256 signatures for any number of public keys.
///
/// OpenSSL multiplies the points of the curve, which is nearly all of the work. Its verification as a whole takes a seventh
/// longer, for numbers that are quick to find (``SignatureEquation``), and its object for one key 2.7 KB: here there are
/// only as many objects as verify at the same time, and a fleet's keys are their coordinates.
final class Verifier: @unchecked Sendable {
  // One that is not in the pool is used only by the thread that has taken it.
  private static let pool = Mutex<[Verifier]>([])

  private let curve: OpaquePointer
  private let context: OpaquePointer
  /// A key's point, that of ``loaded``.
  private let key: OpaquePointer
  private let sum: OpaquePointer
  private let (base, point): (OpaquePointer, OpaquePointer)
  private let (x, z, wanted): (OpaquePointer, OpaquePointer, OpaquePointer)
  /// nil after one that was none of the curve.
  private var loaded: JWK?

  private init() throws(KeyError) {
    guard let curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1), let context = BN_CTX_new(),
      let key = EC_POINT_new(curve), let sum = EC_POINT_new(curve), let base = BN_new(), let point = BN_new(),
      let x = BN_new(), let z = BN_new(), let wanted = BN_new()
    else { throw .library() }
    (self.curve, self.context, self.key, self.sum) = (curve, context, key, sum)
    (self.base, self.point) = (base, point)
    (self.x, self.z, self.wanted) = (x, z, wanted)
  }

  deinit {
    [base, point, x, z, wanted].forEach { BN_free($0) }
    [key, sum].forEach { EC_POINT_free($0) }
    BN_CTX_free(context)
    EC_GROUP_free(curve)
  }

  /// Throws where the coordinates are those of no point of the curve.
  static func check(_ point: JWK) throws(KeyError) {
    try with { verifier throws(KeyError) in try verifier.load(point) }
  }

  /// Whether `signature` (r and s, 64 bytes) is this key's.
  static func verifies(_ signature: ArraySlice<UInt8>, digest: [UInt8], by point: JWK) -> Bool {
    verifies(signature, digest) { verifier throws(KeyError) in
      try verifier.load(point)
      return verifier.add()
    }
  }

  /// The same in half the time.
  static func verifies(_ signature: ArraySlice<UInt8>, digest: [UInt8], by multiples: PointMultiples) -> Bool {
    verifies(signature, digest) { verifier throws(KeyError) in verifier.add(multiples) }
  }

  private static func verifies(
    _ signature: ArraySlice<UInt8>, _ digest: [UInt8], _ add: (Verifier) throws(KeyError) -> Bool
  ) -> Bool {
    guard let equation = SignatureEquation(signature, digest: digest) else { return false }
    let isGood = try? with { verifier throws(KeyError) in
      verifier.set(verifier.base, equation.base)
      verifier.set(verifier.point, equation.point)
      guard try add(verifier), let isGood = verifier.hasSum(at: equation.r) else { throw .library() }
      return isGood
    }
    return isGood ?? false
  }

  private static func with<Value>(_ body: (Verifier) throws(KeyError) -> Value) throws(KeyError) -> Value {
    let verifier: Verifier
    if let free = pool.withLock({ $0.popLast() }) { verifier = free } else { verifier = try Verifier() }
    defer { pool.withLock { $0.append(verifier) } }
    return try body(verifier)
  }

  private func load(_ point: JWK) throws(KeyError) {
    if loaded == point { return }
    loaded = nil
    let bytes = point.uncompressed
    guard EC_POINT_oct2point(curve, key, bytes, bytes.count, context) == 1 else {
      ERR_clear_error()
      throw KeyError(.point)
    }
    loaded = point
  }

  private func set(_ number: OpaquePointer, _ value: GroupOrder.Number) {
    value.withBytes { _ = BN_lebin2bn($0.baseAddress?.assumingMemoryBound(to: UInt8.self), 32, number) }
  }

  /// ``base`` times the base point and ``point`` times the key's.
  private func add() -> Bool { EC_POINT_mul(curve, sum, base, key, point, context) == 1 }

  private func add(_ multiples: PointMultiples) -> Bool {
    loaded = nil
    return EC_POINT_mul(curve, sum, base, nil, nil, context) == 1
      && EC_POINT_mul(multiples.group, key, point, nil, nil, context) == 1
      && EC_POINT_add(curve, sum, sum, key, context) == 1
  }

  /// Whether the sum's x coordinate is `r` modulo the order: X is then `r` times Z², or what is by the order more, as long
  /// as that is below the prime. nil at infinity.
  private func hasSum(at r: GroupOrder.Number) -> Bool? {
    let prime = EC_GROUP_get0_field(curve)
    guard EC_POINT_is_at_infinity(curve, sum) == 0, copenssl_jacobian(curve, sum, x, z, context) == 1,
      BN_mod_sqr(z, z, prime, context) == 1
    else { return nil }
    set(wanted, r)
    while BN_cmp(wanted, prime) < 0 {
      guard BN_mod_mul(base, wanted, z, prime, context) == 1 else { return nil }
      if BN_cmp(base, x) == 0 { return true }
      guard BN_add(wanted, wanted, EC_GROUP_get0_order(curve)) == 1 else { return nil }
    }
    return false
  }
}
