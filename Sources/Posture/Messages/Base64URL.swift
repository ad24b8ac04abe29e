/// Base64url without padding (RFC 7515 section 2), in its one canonical spelling.
public enum Base64URL {
  private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
  /// The value of each byte; 255 for those that are no letters.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 255, count: 256)
    for (value, letter) in letters.enumerated() { values[Int(letter)] = UInt8(value) }
    return values
  }()

  /// What a byte gives at each of the four places of a group, one table behind the other; a foreign one sets the top byte.
  private static let groups: [UInt32] = [18, 12, 6, 0].flatMap { (shift: UInt32) in
    values.map { $0 == 255 ? 0xFF00_0000 : UInt32($0) << shift }
  }

  public static func encode(_ bytes: [UInt8]) -> String {
    String(decoding: encodedBytes(bytes), as: UTF8.self)
  }

  /// The letters as bytes.
  public static func encodedBytes(_ bytes: [UInt8]) -> [UInt8] {
    let size = (bytes.count * 4 + 2) / 3
    return letters.withUnsafeBufferPointer { letters in
      [UInt8](unsafeUninitializedCapacity: size) { out, count in
        bytes.withUnsafeBufferPointer { fill(out, with: $0, letters) }
        count = size
      }
    }
  }

  private static func fill(
    _ out: UnsafeMutableBufferPointer<UInt8>, with bytes: UnsafeBufferPointer<UInt8>,
    _ letters: UnsafeBufferPointer<UInt8>
  ) {
    var from = 0
    var to = 0
    while from + 3 <= bytes.count {
      let group = UInt32(bytes[from]) << 16 | UInt32(bytes[from + 1]) << 8 | UInt32(bytes[from + 2])
      out[to] = letters[Int(group >> 18)]
      out[to + 1] = letters[Int(group >> 12 & 63)]
      out[to + 2] = letters[Int(group >> 6 & 63)]
      out[to + 3] = letters[Int(group & 63)]
      from += 3
      to += 4
    }
    guard from < bytes.count else { return }
    let second = from + 1 < bytes.count ? bytes[from + 1] : 0
    out[to] = letters[Int(bytes[from] >> 2)]
    out[to + 1] = letters[Int(bytes[from] << 4 & 63 | second >> 4)]
    if from + 1 < bytes.count { out[to + 2] = letters[Int(second << 2 & 63)] }
  }

  public static func decode(_ text: some StringProtocol) -> [UInt8]? { decode(Array(text.utf8)[...]) }

  /// nil for padding, the other alphabet, space, a length that no bytes have, and bits left over that are not zero.
  public static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    text.withUnsafeBufferPointer(decode)
  }

  public static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    let (whole, rest) = text.count.quotientAndRemainder(dividingBy: 4)
    guard rest != 1 else { return nil }
    let size = whole * 3 + (rest == 0 ? 0 : rest - 1)
    var isGood = true
    let bytes = groups.withUnsafeBufferPointer { groups in
      [UInt8](unsafeUninitializedCapacity: size) { out, count in
        isGood = fill(out, from: text, groups)
        count = isGood ? size : 0
      }
    }
    return isGood ? bytes : nil
  }

  private static func fill(
    _ out: UnsafeMutableBufferPointer<UInt8>, from text: UnsafeBufferPointer<UInt8>,
    _ groups: UnsafeBufferPointer<UInt32>
  ) -> Bool {
    var from = 0
    var to = 0
    var seen: UInt32 = 0
    while from + 4 <= text.count {
      let group =
        groups[Int(text[from])] | groups[256 + Int(text[from + 1])] | groups[512 + Int(text[from + 2])]
        | groups[768 + Int(text[from + 3])]
      seen |= group
      out[to] = UInt8(truncatingIfNeeded: group >> 16)
      out[to + 1] = UInt8(truncatingIfNeeded: group >> 8)
      out[to + 2] = UInt8(truncatingIfNeeded: group)
      from += 4
      to += 3
    }
    guard from < text.count else { return seen >> 24 == 0 }
    let third = from + 2 < text.count ? groups[512 + Int(text[from + 2])] : 0
    let group = groups[Int(text[from])] | groups[256 + Int(text[from + 1])] | third
    out[to] = UInt8(truncatingIfNeeded: group >> 16)
    if from + 2 < text.count { out[to + 1] = UInt8(truncatingIfNeeded: group >> 8) }
    // Bits beyond the last byte are a second spelling.
    let left: UInt32 = from + 2 < text.count ? 0xFF : 0xFFFF
    return (seen | group) >> 24 == 0 && group & left == 0
  }

  public static func hasOnlyItsLetters(_ text: String) -> Bool {
    text.utf8.allSatisfy { values[Int($0)] != 255 }
  }
}
