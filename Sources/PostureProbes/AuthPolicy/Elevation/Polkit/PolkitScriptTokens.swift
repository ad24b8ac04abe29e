/// One word of a polkit rules file, which is JavaScript.
enum PolkitToken: Hashable, Sendable {
  case name(String)
  case text(String)
  case number(Int)
  /// `/pattern/flags`
  case regularExpression(String, flags: String)
  /// `(`, `==`, `&&` …
  case sign(String)
}

/// Cuts JavaScript into words.
struct PolkitTokens {
  /// A word and the line it stands on.
  struct Entry: Sendable {
    var token: PolkitToken
    var line: Int
    /// A text between backquotes, in which `${…}` stands for a value.
    var isTemplate = false
  }

  /// nil for a text that ends within a string or a comment, or with a character that no program has.
  static func read(_ bytes: [UInt8]) -> [Entry]? {
    var reader = PolkitTokens(bytes: bytes)
    return reader.all()
  }

  /// Whether ECMAScript 5 refuses the text for its syntax: `let`, arrows, templates and the like.
  static func areBeyondES5(_ entries: [Entry]) -> Bool {
    entries.indices.contains { index in
      switch entries[index].token {
      case .text: entries[index].isTemplate
      case .sign(let sign): ["=>", "...", "?.", "??"].contains(sign)
      case .name("let"): index + 1 < entries.count && isName(entries[index + 1].token)
      default: false
      }
    }
  }

  private static func isName(_ token: PolkitToken) -> Bool {
    if case .name = token { true } else { false }
  }

  private static let signs = [
    "===", "!==", "==", "!=", ">=", "<=", "=>", "&&", "||", "++", "--", "+=", "-=", "...", "?.", "??",
  ]

  private let bytes: [UInt8]
  private var at = 0
  private var line = 1
  private var entries: [Entry] = []

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private mutating func all() -> [Entry]? {
    while skipSpace(), at < bytes.count {
      let isTemplate = bytes[at] == UInt8(ascii: "`")
      guard let token = token() else { return nil }
      entries.append(Entry(token: token, line: line, isTemplate: isTemplate))
    }
    return at >= bytes.count ? entries : nil
  }

  // MARK: Between words

  /// False within a comment that never ends.
  private mutating func skipSpace() -> Bool {
    while at < bytes.count {
      let byte = bytes[at]
      if byte == 0x0A { line += 1 }
      if byte <= 0x20 {
        at += 1
      } else if starts(with: "//") {
        at = bytes[at...].firstIndex(of: 0x0A) ?? bytes.count
      } else if starts(with: "/*") {
        guard skipComment() else { return false }
      } else {
        return true
      }
    }
    return true
  }

  private mutating func skipComment() -> Bool {
    at += 2
    while at < bytes.count {
      if starts(with: "*/") {
        at += 2
        return true
      }
      if bytes[at] == 0x0A { line += 1 }
      at += 1
    }
    return false
  }

  private func starts(with text: String) -> Bool { bytes[at...].starts(with: text.utf8) }

  // MARK: Words

  private mutating func token() -> PolkitToken? {
    let byte = bytes[at]
    if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "`") { return string(byte) }
    if Self.isDigit(byte) { return number() }
    if Self.isLetter(byte) { return name() }
    if byte == UInt8(ascii: "/"), mayStartExpression { return expression() }
    if let sign = Self.signs.first(where: starts) {
      at += sign.utf8.count
      return .sign(sign)
    }
    guard byte > 0x20, byte < 0x7F else { return nil }
    at += 1
    return .sign(String(UnicodeScalar(byte)))
  }

  private static func isDigit(_ b: UInt8) -> Bool { b >= UInt8(ascii: "0") && b <= UInt8(ascii: "9") }
  private static func isLetter(_ b: UInt8) -> Bool {
    (b | 0x20 >= UInt8(ascii: "a") && b | 0x20 <= UInt8(ascii: "z")) || b == UInt8(ascii: "_") || b == UInt8(ascii: "$")
      || b >= 0x80
  }

  private mutating func name() -> PolkitToken {
    let start = at
    while at < bytes.count, Self.isLetter(bytes[at]) || Self.isDigit(bytes[at]) { at += 1 }
    return .name(String(decoding: bytes[start..<at], as: UTF8.self))
  }

  private mutating func number() -> PolkitToken? {
    let start = at
    while at < bytes.count, Self.isDigit(bytes[at]) { at += 1 }
    return Int(String(decoding: bytes[start..<at], as: UTF8.self)).map { .number($0) }
  }

  private mutating func string(_ quote: UInt8) -> PolkitToken? {
    at += 1
    var out: [UInt8] = []
    while at < bytes.count, bytes[at] != quote {
      if bytes[at] == 0x0A {
        guard quote == UInt8(ascii: "`") else { return nil }
        line += 1
      }
      if bytes[at] == UInt8(ascii: "\\") { at += 1 }
      guard at < bytes.count else { return nil }
      out.append(bytes[at])
      at += 1
    }
    guard at < bytes.count else { return nil }
    at += 1
    return .text(String(decoding: out, as: UTF8.self))
  }

  /// A slash divides after a value, and starts a regular expression anywhere else.
  private var mayStartExpression: Bool {
    switch entries.last?.token {
    case .name(let word): word == "return"
    case .text, .number, .regularExpression: false
    case .sign(let sign): sign != ")" && sign != "]"
    case nil: true
    }
  }

  private mutating func expression() -> PolkitToken? {
    at += 1
    let start = at
    var isInClass = false
    while at < bytes.count, bytes[at] != 0x0A {
      switch bytes[at] {
      case UInt8(ascii: "\\"): at += 1
      case UInt8(ascii: "["): isInClass = true
      case UInt8(ascii: "]"): isInClass = false
      case UInt8(ascii: "/") where !isInClass:
        let pattern = String(decoding: bytes[start..<at], as: UTF8.self)
        at += 1
        let end = bytes[at...].firstIndex { !Self.isLetter($0) } ?? bytes.count
        defer { at = end }
        return .regularExpression(pattern, flags: String(decoding: bytes[at..<end], as: UTF8.self))
      default: break
      }
      at += 1
    }
    return nil
  }
}
