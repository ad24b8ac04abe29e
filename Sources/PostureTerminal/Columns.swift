/// How much room text takes on a terminal (wcwidth(3), which does not know these letters in every locale).
public enum Columns {
  public static func count(_ text: some StringProtocol) -> Int {
    // What most text is; a table of ten thousand devices is painted twice a second.
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
    return text.reduce(0) { $0 + count($1) }
  }

  private static func count(_ character: Character) -> Int {
    let scalars = character.unicodeScalars
    if scalars.contains(where: isWide) { return 2 }
    return scalars.allSatisfy { $0.properties.generalCategory == .nonspacingMark } ? 0 : 1
  }

  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isEmojiPresentation || wide.contains { $0.contains(scalar.value) }
  }

  /// East Asian Width W and F (UAX #11): Hangul, kana, ideographs, and forms as wide as these.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
    0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x1_7000...0x1_B2FF, 0x2_0000...0x3_FFFD,
  ]

  /// `text` in pieces of at most `width` columns, at least one.
  static func pieces(_ text: some StringProtocol, _ width: Int) -> [String] {
    if count(text) <= width { return [String(text)] }
    var (pieces, room) = ([""], width)
    for character in text {
      let needed = count(character)
      if needed > room, pieces[pieces.count - 1] != "" {
        pieces.append("")
        room = width
      }
      pieces[pieces.count - 1].append(character)
      room -= needed
    }
    return pieces
  }

  /// `text` itself, or its beginning with an ellipsis.
  public static func shortened(_ text: String, to width: Int) -> String {
    count(text) <= width ? text : pieces(text, width - 1)[0] + "…"
  }
}
