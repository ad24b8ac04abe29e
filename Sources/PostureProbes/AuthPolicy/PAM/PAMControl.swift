extension PAM {
  /// What a stack does with one return code of an entry.
  enum Action: Hashable, Sendable {
    case ignore, ok, done, bad, die, reset
    /// Passes over so many entries.
    case jump(Int)
    /// A number that wrapped below zero: nothing is passed over, and nothing can mend it.
    case badJump

    fileprivate static let words: [(name: [UInt8], action: Action)] = [
      (Array("ignore".utf8), .ignore), (Array("ok".utf8), .ok), (Array("done".utf8), .done),
      (Array("bad".utf8), .bad), (Array("die".utf8), .die), (Array("reset".utf8), .reset),
    ]
  }

  /// The control column of a line: an action for each return code.
  struct Control: Hashable, Sendable {
    private(set) var actions: [Action]

    subscript(code: Code) -> Action {
      actions.indices.contains(Int(code.number)) ? actions[Int(code.number)] : .bad
    }

    private init(_ named: [(Code, Action)], otherwise: Action) {
      actions = Array(repeating: otherwise, count: Code.count)
      for (code, action) in named { actions[Int(code.number)] = action }
    }

    static let allBad = Control([], otherwise: .bad)

    private static let keywords: [String: Control] = [
      "required": Control([(.success, .ok), (.newTokenRequired, .ok), (.ignore, .ignore)], otherwise: .bad),
      "requisite": Control([(.success, .ok), (.newTokenRequired, .ok), (.ignore, .ignore)], otherwise: .die),
      "optional": Control([(.success, .ok), (.newTokenRequired, .ok)], otherwise: .ignore),
      "sufficient": Control([(.success, .done), (.newTokenRequired, .done)], otherwise: .ignore),
    ]

    /// A keyword in any case, or the inside of brackets (pam.conf(5)). A syntax error makes every code bad.
    /// `wrapsJumps`: before 1.6 a number too large for 32 bits was not an error.
    init(_ text: [UInt8], wrapsJumps: Bool) {
      if let known = Self.keywords[ASCII.lowercased(text)] {
        self = known
        return
      }
      var parser = ControlParser(text, wrapsJumps)
      let filled = parser.parse()
      actions = filled?.map { $0 ?? .bad } ?? Self.allBad.actions
    }
  }

  /// Reads `code=action` pairs as libpam does: names are compared by prefix, in the order of the table.
  private struct ControlParser {
    private let text: [UInt8]
    private let wrapsJumps: Bool
    private var at = 0
    private var actions: [Action?] = Array(repeating: nil, count: Code.count)

    init(_ text: [UInt8], _ wrapsJumps: Bool) {
      self.text = text
      self.wrapsJumps = wrapsJumps
    }

    mutating func parse() -> [Action?]? {
      while true {
        skipSpace()
        guard at < text.count else { return actions }
        guard let code = code(), equals(), let action = action() else { return nil }
        if code < Code.count {
          actions[code] = action
        } else {
          actions = actions.map { $0 ?? action }
        }
      }
    }

    private mutating func skipSpace() {
      while at < text.count, ASCII.isSpace(text[at]) { at += 1 }
    }

    private func isAhead(_ word: [UInt8]) -> Bool { text[at...].starts(with: word) }

    private static let names = Code.names.map { Array($0.utf8) }

    private mutating func code() -> Int? {
      guard let code = Self.names.firstIndex(where: isAhead) else { return nil }
      at += Self.names[code].count
      return at < text.count ? code : nil
    }

    private mutating func equals() -> Bool {
      skipSpace()
      guard at < text.count, text[at] == UInt8(ascii: "=") else { return false }
      at += 1
      skipSpace()
      return at < text.count
    }

    private mutating func action() -> Action? {
      if let word = Action.words.first(where: { isAhead($0.name) }) {
        at += word.name.count
        return word.action
      }
      return jump()
    }

    private mutating func jump() -> Action? {
      var steps: Int32 = 0
      let start = at
      while at < text.count, ASCII.isDigit(text[at]) {
        let (tens, isTooLarge) = steps.multipliedReportingOverflow(by: 10)
        let (sum, isStillTooLarge) = tens.addingReportingOverflow(Int32(text[at] - UInt8(ascii: "0")))
        guard wrapsJumps || !(isTooLarge || isStillTooLarge) else { return nil }
        steps = sum
        at += 1
      }
      guard at > start, steps != 0 else { return nil }
      return steps > 0 ? .jump(Int(steps)) : .badJump
    }
  }
}

/// The C library's idea of characters in the C locale.
enum ASCII {
  static func isSpace(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
  static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }
  static func isAlphanumeric(_ byte: UInt8) -> Bool {
    isDigit(byte) || (65...90).contains(byte) || (97...122).contains(byte)
  }
  static func lowercased(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: bytes.map { (65...90).contains($0) ? $0 + 32 : $0 }, as: UTF8.self)
  }
  static func lowercased(_ text: String) -> String { lowercased(text.utf8) }
}
