import COpenSSL
import Posture

/// Multiples of one key's point, for a key that has signed for a whole fleet.
///
/// Most of a verification is to multiply the key's point. OpenSSL keeps multiples of the curve's own base point, and
/// makes the same of any other that it is given as one. They take 150 KB, and as long to make as five hundred
/// verifications.
final class PointMultiples: @unchecked Sendable {
  // Nothing is changed after init.

  /// The curve with the key's point in place of its base point.
  let group: OpaquePointer

  /// nil where the library does not help, or the coordinates are those of no point of the curve.
  init?(_ point: JWK) {
    guard let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else { return nil }
    self.group = group
    let generator = EC_POINT_new(group)
    defer { EC_POINT_free(generator) }
    let bytes = point.uncompressed
    guard EC_POINT_oct2point(group, generator, bytes, bytes.count, nil) == 1,
      EC_GROUP_set_generator(group, generator, EC_GROUP_get0_order(group), EC_GROUP_get0_cofactor(group)) == 1,
      copenssl_precompute(group) == 1
    else {
      ERR_clear_error()
      return nil
    }
  }

  deinit { EC_GROUP_free(group) }
}
