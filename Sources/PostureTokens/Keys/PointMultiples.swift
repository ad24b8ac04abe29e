import COpenSSL
import Posture

/// ES256 for a key that has signed for a whole fleet, in half the time of ``Verifier``.
///
/// Most of a verification is to multiply the key's point. OpenSSL keeps multiples of the curve's own base point, and
/// makes the same of any other that it is given as one. They take 150 KB, and as long to make as five hundred
/// verifications. Everything in it is public: nothing need take the same time for every number.
final class PointMultiples: @unchecked Sendable {
  // Nothing is changed after init.

  private let curve: OpaquePointer
  /// The curve with the key's point in place of its base point.
  private let multiples: OpaquePointer

  /// nil where the library does not help, or the coordinates are those of no point of the curve.
  init?(_ point: JWK) {
    guard let curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1), let multiples = EC_GROUP_dup(curve),
      let order = EC_GROUP_get0_order(curve)
    else { return nil }
    (self.curve, self.multiples) = (curve, multiples)
    let (generator, context) = (EC_POINT_new(curve), BN_CTX_new())
    defer {
      EC_POINT_free(generator)
      BN_CTX_free(context)
    }
    let bytes = [0x04] + point.x + point.y
    guard context != nil, EC_POINT_oct2point(curve, generator, bytes, bytes.count, context) == 1,
      EC_GROUP_set_generator(multiples, generator, order, EC_GROUP_get0_cofactor(curve)) == 1,
      copenssl_precompute(multiples) == 1
    else {
      ERR_clear_error()
      return nil
    }
  }

  deinit {
    EC_GROUP_free(multiples)
    EC_GROUP_free(curve)
  }

  /// Whether `signature` (r and s, 64 bytes) is this key's (FIPS 186-5 section 6.4.2).
  func verifies(_ signature: ArraySlice<UInt8>, digest: [UInt8]) -> Bool {
    guard signature.count == 64, digest.count == 32, let context = BN_CTX_new() else { return false }
    defer { BN_CTX_free(context) }
    BN_CTX_start(context)
    defer { BN_CTX_end(context) }
    guard let r = Self.number(signature.prefix(32), context), let s = Self.number(signature.suffix(32), context),
      isInRange(r), isInRange(s), let e = Self.number(digest[...], context)
    else { return false }
    // OpenSSL's own inverse would take as long as both multiplications.
    let inverse = GroupOrder.inverse(of: GroupOrder.Number(bytes: signature.suffix(32))).bytes
    let result = Self.number(inverse[...], context).flatMap { sum(e, r, $0, context) }.map { BN_cmp($0, r) == 0 }
    if result == nil { ERR_clear_error() }
    return result ?? false
  }

  private static func number(_ bytes: ArraySlice<UInt8>, _ context: OpaquePointer) -> OpaquePointer? {
    guard let number = BN_CTX_get(context) else { return nil }
    return bytes.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, Int32($0.count), number) }
  }

  private func isInRange(_ number: OpaquePointer) -> Bool {
    BN_is_zero(number) == 0 && BN_cmp(number, EC_GROUP_get0_order(curve)) < 0
  }

  /// The x coordinate, modulo the order, of e/s times the base point and r/s times the key's; nil at infinity.
  private func sum(
    _ e: OpaquePointer, _ r: OpaquePointer, _ inverse: OpaquePointer, _ context: OpaquePointer
  ) -> OpaquePointer? {
    let order = EC_GROUP_get0_order(curve)
    let (base, point) = (EC_POINT_new(curve), EC_POINT_new(multiples))
    defer {
      EC_POINT_free(base)
      EC_POINT_free(point)
    }
    guard let factor = BN_CTX_get(context), let x = BN_CTX_get(context),
      BN_mod_mul(factor, e, inverse, order, context) == 1,
      EC_POINT_mul(curve, base, factor, nil, nil, context) == 1,
      BN_mod_mul(factor, r, inverse, order, context) == 1,
      EC_POINT_mul(multiples, point, factor, nil, nil, context) == 1,
      EC_POINT_add(curve, base, base, point, context) == 1, EC_POINT_is_at_infinity(curve, base) == 0,
      EC_POINT_get_affine_coordinates(curve, base, x, nil, context) == 1, BN_nnmod(x, x, order, context) == 1
    else { return nil }
    return x
  }
}
