/// Numbers in rows of passwd(5), shadow(5) and group(5), as the C library reads them.
enum CNumber {
  /// Blanks and a sign may stand before the digits, nothing behind them; nil for anything else, and for what is too large.
  static func unsigned(_ field: some StringProtocol) -> UInt32? {
    let text = field.utf8.drop(while: ASCII.isSpace)
    let digits = text.first == UInt8(ascii: "+") ? text.dropFirst() : text
    guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else { return nil }
    return UInt32(String(decoding: digits, as: UTF8.self))
  }

  /// The same for a field that may be empty, which is -1.
  static func orNone(_ field: some StringProtocol) -> UInt32? { field.isEmpty ? .max : unsigned(field) }
}
