import Posture

/// The lines of doas.conf, each with its words, as OpenDoas takes them apart (yylex of parse.y).
struct DoasLines {
  enum Word: Hashable, Sendable {
    case keyword(String)
    case text(String)
    /// "{" or "}"
    case brace(String)
  }

  struct Line {
    var words: [Word] = []
    var number: Int
    /// As it is written, continued lines in one.
    var text = ""
    /// Something in it is refused, whatever the grammar says.
    var isBroken = false
  }

  private static let keywords: Set = [
    "deny", "permit", "as", "cmd", "args", "nopass", "nolog", "persist", "keepenv", "setenv",
  ]
  private static let longestWord = 1_023

  private let bytes: [UInt8]
  private var position = 0
  private var number = 1

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The next line; nil behind the last.
  mutating func next() -> Line? {
    guard position < bytes.count else { return nil }
    var line = Line(number: number)
    let start = position
    while let word = word(&line) { line.words.append(word) }
    line.text = String(decoding: bytes[start..<position], as: UTF8.self).substituting("\\\n", with: "")
    // A rule ends with the end of its line, not with that of the file; a comment behind it makes no difference.
    if position == bytes.count, !line.words.isEmpty { line.isBroken = true }
    if position < bytes.count { step() }
    return line
  }

  private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func step() {
    if byte == UInt8(ascii: "\n") { number += 1 }
    position += 1
  }

  private static let newline = UInt8(ascii: "\n")
  private static let blanks = Array(" \t".utf8)
  private static let ends = Array(" \t{}#".utf8)

  private struct Pending {
    var text: [UInt8] = []
    var isQuoted = false
    var isKeyword = true
  }

  /// nil at the end of the line, where `position` then is.
  private mutating func word(_ line: inout Line) -> Word? {
    var pending = Pending()
    while pending.text.isEmpty, !pending.isQuoted {
      while let byte, Self.blanks.contains(byte) { step() }
      switch byte {
      case nil, Self.newline: return nil
      case UInt8(ascii: "{"), UInt8(ascii: "}"):
        let brace = bytes[position]
        step()
        return .brace(String(UnicodeScalar(brace)))
      case UInt8(ascii: "#"):
        while let byte, byte != Self.newline { step() }
        return nil
      default: read(&pending, &line)
      }
    }
    if pending.text.count > Self.longestWord { line.isBroken = true }
    let text = String(decoding: pending.text, as: UTF8.self)
    return pending.isKeyword && Self.keywords.contains(text) ? .keyword(text) : .text(text)
  }

  /// Up to what ends a word. A backslash at the end of a line joins it with the next; what is joined is no keyword.
  private mutating func read(_ word: inout Pending, _ line: inout Line) {
    var isOpen = false
    var isEscaped = false
    while let byte {
      if byte == 0 || byte == Self.newline && isOpen { line.isBroken = true }
      if byte == Self.newline {
        guard isEscaped else { return }
        isEscaped = false
        word.isKeyword = false
      } else if isEscaped {
        word.text.append(byte)
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isOpen.toggle()
        word.isQuoted = true
        word.isKeyword = false
      } else if !isOpen, Self.ends.contains(byte) {
        return
      } else {
        word.text.append(byte)
      }
      step()
    }
    if isOpen || isEscaped { line.isBroken = true }
  }
}
