extension PAM {
  /// A line of a PAM file after comments are cut and continued lines joined.
  struct LogicalLine: Hashable, Sendable {
    var text: [UInt8]
    /// 1-based number of the physical line it begins on.
    var number: Int
  }

  /// How a version of libpam puts lines together.
  enum LineRules: Sendable {
    /// Before 1.6: comments and blank lines between continued lines are passed over; physical lines are read in
    /// pieces of at most 1023 bytes.
    case before16
    /// 1.6 and later: a comment or a blank line ends the continued line.
    case since16
  }

  /// The logical lines of a file; `isBroken` where it ends inside a continued line, which libpam takes as an error
  /// of the whole file (after it has taken the lines before).
  struct Lines: Sendable {
    private(set) var lines: [LogicalLine] = []
    private(set) var isBroken = false

    init(_ bytes: [UInt8], _ rules: LineRules) {
      switch rules {
      case .before16: readBefore16(bytes)
      case .since16: readSince16(bytes)
      }
    }

    private static let hash = UInt8(ascii: "#")
    private static let backslash = UInt8(ascii: "\\")
    private static let newline = UInt8(ascii: "\n")

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }
    private static func isBlankOrNewline(_ byte: UInt8) -> Bool { isBlank(byte) || byte == newline }

    // MARK: Before 1.6

    private static let bufferSize = 1024

    private mutating func readBefore16(_ bytes: [UInt8]) {
      var reader = Chunks(bytes)
      var joined: [UInt8] = []
      var used = 0
      var start: Int?
      while true {
        let room = Self.bufferSize - joined.count
        guard room > 0, let chunk = reader.next(atMost: room - 1) else {
          isBroken = used > 0 || room <= 0
          return
        }
        guard let first = chunk.bytes.firstIndex(where: { !Self.isBlankOrNewline($0) }),
          chunk.bytes[first] != Self.hash
        else { continue }
        start = start ?? chunk.line
        if let comment = chunk.bytes[first...].firstIndex(of: Self.hash) {
          joined += chunk.bytes[..<comment]
        } else if let end = Self.continuation(chunk.bytes[...], from: first) {
          joined += chunk.bytes[..<end]
          joined.append(32)
          used += end + 1 - first
          continue
        } else {
          joined += chunk.bytes
        }
        lines.append(LogicalLine(text: joined, number: start ?? chunk.line))
        joined = []
        used = 0
        start = nil
      }
    }

    // MARK: Since 1.6

    private mutating func readSince16(_ bytes: [UInt8]) {
      var reader = Chunks(bytes)
      var joined: [UInt8]?
      var isContinued = false
      var start: Int?
      while let chunk = reader.next(atMost: .max) {
        var text = chunk.bytes[...]
        var ends = true
        if let end = Self.continuation(text, from: 0) {
          ends = text.contains(Self.hash)
          text = text[..<end] + [32]
        }
        text = text.drop(while: Self.isBlank).prefix { $0 != Self.hash }
        if ends {
          if joined != nil || (!text.isEmpty && text.first != Self.newline) { joined = (joined ?? []) + text }
          isContinued = false
          guard let line = joined, !line.isEmpty else { continue }
          lines.append(LogicalLine(text: line, number: start ?? chunk.line))
          joined = nil
          start = nil
        } else {
          isContinued = true
          guard !text.isEmpty else { continue }
          start = start ?? chunk.line
          joined = (joined ?? []) + text
        }
      }
      isBroken = isContinued
    }

    /// Where the backslash stands that continues the line; nil where there is none.
    private static func continuation(_ text: ArraySlice<UInt8>, from: Int) -> Int? {
      let last = text[from...].lastIndex { !isBlankOrNewline($0) }
      guard let last, text[last] == backslash else { return nil }
      return last
    }
  }

  /// Pieces as fgets(3) and getline(3) hand them out: to the newline, or to a limit. A NUL ends a piece's text.
  private struct Chunks {
    private let bytes: [UInt8]
    private var at = 0
    private var line = 1

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func next(atMost limit: Int) -> (bytes: [UInt8], line: Int)? {
      guard at < bytes.count, limit > 0 else { return nil }
      let newline = bytes[at...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
      let end = min(newline, limit < bytes.count - at ? at + limit : bytes.count)
      let piece = Array(bytes[at..<end].prefix { $0 != 0 })
      let number = line
      if bytes[end - 1] == UInt8(ascii: "\n") { line += 1 }
      at = end
      return (piece, number)
    }
  }

  /// Words of a line: separated by blanks, or `[...]` with `\]` for a bracket inside (`_pam_tokenize`).
  struct Words: Sendable {
    private let text: [UInt8]
    private var at: Int?

    init(_ text: [UInt8]) {
      self.text = text
      at = 0
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 || byte == 10 }

    mutating func next() -> [UInt8]? {
      guard let start = at else { return nil }
      guard let first = text[start...].firstIndex(where: { !Self.isDelimiter($0) }) else {
        at = nil
        return nil
      }
      let (word, end) = text[first] == UInt8(ascii: "[") ? bracketed(first + 1) : plain(first)
      at = end + 1 < text.count ? end + 1 : nil
      return word
    }

    private func plain(_ start: Int) -> ([UInt8], Int) {
      let end = text[start...].firstIndex(where: Self.isDelimiter) ?? text.count
      return (Array(text[start..<end]), end)
    }

    private func bracketed(_ start: Int) -> ([UInt8], Int) {
      let close = UInt8(ascii: "]")
      var word: [UInt8] = []
      var end = start
      while end < text.count, text[end] != close {
        if text[end] == UInt8(ascii: "\\"), end + 1 < text.count, text[end + 1] == close { end += 1 }
        word.append(text[end])
        end += 1
      }
      return (word, end)
    }

    /// What has not been read yet.
    var remainder: [UInt8] { at.map { Array(text[$0...]) } ?? [] }

    /// Every word that is left.
    mutating func rest() -> [[UInt8]] {
      var words: [[UInt8]] = []
      while let word = next() { words.append(word) }
      return words
    }
  }
}
