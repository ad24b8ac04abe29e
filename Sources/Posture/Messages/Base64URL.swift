/// Base64url without padding (RFC 7515 section 2), in its one canonical spelling.
public enum Base64URL {
  private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
  /// The value of each byte; 255 for those that are no letters.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 255, count: 256)
    for (value, letter) in letters.enumerated() { values[Int(letter)] = UInt8(value) }
    return values
  }()

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
    let (groups, rest) = text.count.quotientAndRemainder(dividingBy: 4)
    guard rest != 1 else { return nil }
    let size = groups * 3 + (rest == 0 ? 0 : rest - 1)
    var isGood = true
    let bytes = values.withUnsafeBufferPointer { values in
      [UInt8](unsafeUninitializedCapacity: size) { out, count in
        isGood = fill(out, from: text, values)
        count = isGood ? size : 0
      }
    }
    return isGood ? bytes : nil
  }

  private static func fill(
    _ out: UnsafeMutableBufferPointer<UInt8>, from text: UnsafeBufferPointer<UInt8>,
    _ values: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    var from = 0
    var to = 0
    var seen: UInt8 = 0
    while from + 4 <= text.count {
      let (a, b) = (values[Int(text[from])], values[Int(text[from + 1])])
      let (c, d) = (values[Int(text[from + 2])], values[Int(text[from + 3])])
      // Only 255, the mark of a foreign byte, has the two upper bits.
      seen |= a | b | c | d
      out[to] = a << 2 | b >> 4
      out[to + 1] = b << 4 | c >> 2
      out[to + 2] = c << 6 | d
      from += 4
      to += 3
    }
    guard from < text.count else { return seen < 64 }
    let (a, b) = (values[Int(text[from])], values[Int(text[from + 1])])
    seen |= a | b
    out[to] = a << 2 | b >> 4
    guard from + 2 < text.count else { return seen < 64 && b & 15 == 0 }
    let c = values[Int(text[from + 2])]
    out[to + 1] = b << 4 | c >> 2
    return (seen | c) < 64 && c & 3 == 0
  }

  public static func hasOnlyItsLetters(_ text: String) -> Bool {
    text.utf8.allSatisfy { values[Int($0)] != 255 }
  }
}
