/// The numbers of an ES256 signature that is to be verified (FIPS 186-5 section 6.4.2): whether the sum of ``base`` times
/// the base point and ``point`` times the key's has the x coordinate ``r``, modulo the order.
struct SignatureEquation {
  let base: GroupOrder.Number
  let point: GroupOrder.Number
  let r: GroupOrder.Number

  /// `signature`: r and s, 64 bytes. nil where no key can have made it.
  init?(_ signature: ArraySlice<UInt8>, digest: [UInt8]) {
    guard signature.count == 64, digest.count == 32 else { return nil }
    r = GroupOrder.Number(bytes: signature.prefix(32))
    let s = GroupOrder.Number(bytes: signature.suffix(32))
    guard Self.isInRange(r), Self.isInRange(s) else { return nil }
    let inverse = GroupOrder.Factor(GroupOrder.inverse(of: s))
    base = inverse * GroupOrder.Number(bytes: digest[...])
    point = inverse * r
  }

  private static func isInRange(_ number: GroupOrder.Number) -> Bool { !number.isZero && number < GroupOrder.value }
}
