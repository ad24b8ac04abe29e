/// Why a line of sudoers(5) cannot be read.
struct SudoersSyntaxError: Error, Hashable, Sendable {
  /// Offset in the joined line.
  let column: Int
}

/// Words and lists of one line of sudoers(5).
struct SudoersScanner {
  let bytes: [UInt8]
  private(set) var at = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var byte: UInt8? { at < bytes.count ? bytes[at] : nil }
  var isAtEnd: Bool { at >= bytes.count }
  var failure: SudoersSyntaxError { SudoersSyntaxError(column: at) }

  mutating func skipBlanks() {
    while let b = byte, Self.isBlank(b) { at += 1 }
  }

  mutating func take(_ character: Character) -> Bool {
    guard let byte, byte == character.asciiValue else { return false }
    at += 1
    return true
  }

  /// Takes the character with blanks around it.
  mutating func takeSpaced(_ character: Character) -> Bool {
    let start = at
    skipBlanks()
    guard take(character) else {
      at = start
      return false
    }
    skipBlanks()
    return true
  }

  mutating func expect(_ character: Character) throws(SudoersSyntaxError) {
    guard takeSpaced(character) else { throw failure }
  }

  static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

  /// Upper-case letters, digits and underscores: the name of an alias or of a tag. Not consumed.
  func upperWord() -> String {
    String(
      decoding: bytes[at...].prefix { b in
        (b >= UInt8(ascii: "A") && b <= UInt8(ascii: "Z")) || b == UInt8(ascii: "_")
          || (b >= UInt8(ascii: "0") && b <= UInt8(ascii: "9"))
      }, as: UTF8.self)
  }

  mutating func skip(_ count: Int) { at = min(bytes.count, at + count) }

  // MARK: Words

  /// A word in double quotes.
  private mutating func quoted() throws(SudoersSyntaxError) -> String {
    at += 1
    var out: [UInt8] = []
    while let b = byte, b != UInt8(ascii: "\"") {
      if b == UInt8(ascii: "\\"), at + 1 < bytes.count, bytes[at + 1] == UInt8(ascii: "\"") { at += 1 }
      out.append(bytes[at])
      at += 1
    }
    guard take("\"") else { throw failure }
    return String(decoding: out, as: UTF8.self)
  }

  /// A word that ends before an unescaped byte of `ends` or a blank; a backslash makes any byte ordinary.
  mutating func word(until ends: StaticString) throws(SudoersSyntaxError) -> String {
    if byte == UInt8(ascii: "\"") { return try quoted() }
    let stops = ends.withUTF8Buffer { Array($0) }
    var out: [UInt8] = []
    while let b = byte, !Self.isBlank(b), !stops.contains(b) {
      if b == UInt8(ascii: "\\") {
        guard at + 1 < bytes.count else { throw failure }
        escape(into: &out)
      } else {
        out.append(b)
        at += 1
      }
    }
    guard !out.isEmpty else { throw failure }
    return String(decoding: out, as: UTF8.self)
  }

  /// `\x20` is a byte by its number, any other escaped byte itself.
  private mutating func escape(into out: inout [UInt8]) {
    if bytes[at + 1] == UInt8(ascii: "x"), at + 3 < bytes.count,
      let value = UInt8(String(decoding: bytes[(at + 2)...(at + 3)], as: UTF8.self), radix: 16)
    {
      out.append(value)
      at += 4
    } else {
      out.append(bytes[at + 1])
      at += 2
    }
  }

  // MARK: Items

  /// `!`, any number of times; true for an odd one.
  mutating func negation() -> Bool {
    var isNegated = false
    while take("!") {
      isNegated.toggle()
      skipBlanks()
    }
    return isNegated
  }

  private static let nameEnds: StaticString = "#>!=:,()\""

  /// A user, a group or a netgroup.
  mutating func user() throws(SudoersSyntaxError) -> Sudoers.Name {
    if take("#") { return .uid(try number()) }
    if take("+") { return .netgroup(try word(until: Self.nameEnds)) }
    if take("%") {
      if take("#") { return .gid(try number()) }
      if take(":") { return .foreignGroup(try word(until: Self.nameEnds)) }
      return .group(try word(until: Self.nameEnds))
    }
    let isQuoted = byte == UInt8(ascii: "\"")
    let name = try word(until: Self.nameEnds)
    return isQuoted ? Self.prefixed(name) : Self.named(name) { .user($0) }
  }

  /// A group where only groups can stand, so that its name needs no prefix.
  mutating func group() throws(SudoersSyntaxError) -> Sudoers.Name {
    switch try user() {
    case .user(let name): .group(name)
    case .uid(let number): .gid(number)
    case let name: name
    }
  }

  /// Inside quotes the prefixes keep their meaning.
  private static func prefixed(_ name: String) -> Sudoers.Name {
    if name.hasPrefix("%:") { return .foreignGroup(String(name.dropFirst(2))) }
    if name.hasPrefix("%#"), let gid = UInt32(name.dropFirst(2)) { return .gid(gid) }
    if name.hasPrefix("%") { return .group(String(name.dropFirst())) }
    if name.hasPrefix("+") { return .netgroup(String(name.dropFirst())) }
    if name.hasPrefix("#"), let uid = UInt32(name.dropFirst()) { return .uid(uid) }
    return .user(name)
  }

  private mutating func number() throws(SudoersSyntaxError) -> UInt32 {
    let digits = String(decoding: bytes[at...].prefix { !Self.isBlank($0) && !",=:)".utf8.contains($0) }, as: UTF8.self)
    // sudo takes -1 for the largest number, which no account has.
    guard let value = UInt32(digits) ?? (Int32(digits).map(UInt32.init(bitPattern:))) else { throw failure }
    skip(digits.utf8.count)
    return value
  }

  /// ALL, an alias, or a name of the given kind.
  static func named(_ name: String, _ kind: (String) -> Sudoers.Name) -> Sudoers.Name {
    if name == "ALL" { return .all }
    let isAlias =
      name.utf8.first.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") } ?? false
      && name.utf8.allSatisfy { b in
        (b >= UInt8(ascii: "A") && b <= UInt8(ascii: "Z")) || b == UInt8(ascii: "_")
          || (b >= UInt8(ascii: "0") && b <= UInt8(ascii: "9"))
      }
    return isAlias ? .alias(name) : kind(name)
  }

  mutating func host() throws(SudoersSyntaxError) -> Sudoers.Name {
    if take("+") { return .netgroup(try word(until: Self.nameEnds)) }
    if let address = addressOfIPv6() { return .host(address) }
    return Self.named(try word(until: Self.nameEnds)) { .host($0) }
  }

  /// An address with colons, which would else end the word.
  private mutating func addressOfIPv6() -> String? {
    let text = bytes[at...].prefix { b in
      (b >= UInt8(ascii: "0") && b <= UInt8(ascii: "9")) || b == UInt8(ascii: ":") || b == UInt8(ascii: ".")
        || b == UInt8(ascii: "/") || (b | 0x20 >= UInt8(ascii: "a") && b | 0x20 <= UInt8(ascii: "f"))
    }
    guard text.filter({ $0 == UInt8(ascii: ":") }).count >= 2 else { return nil }
    at += text.count
    return String(decoding: text, as: UTF8.self)
  }

  // MARK: Commands

  /// A command with its arguments; with `hasArguments` false it ends at the first blank.
  mutating func command(hasArguments: Bool = true) throws(SudoersSyntaxError) -> Sudoers.Name {
    try skipDigests()
    let isRegularExpression = byte == UInt8(ascii: "^")
    let isPath = byte == UInt8(ascii: "/") || byte == UInt8(ascii: "~")
    let first = try isRegularExpression ? expression() : commandWord(isPath: isPath)
    if !isPath, !isRegularExpression, first != "sudoedit", first != "list" {
      switch Self.named(first, { .command($0) }) {
      case .command: throw failure
      case let name: return name
      }
    }
    guard hasArguments else { return .command(first) }
    var words = [first]
    while true {
      skipBlanks()
      guard let b = byte, !",:=#".utf8.contains(b) else { break }
      words.append(try b == UInt8(ascii: "^") && words.count == 1 ? expression() : argument())
    }
    return .command(words.joined(separator: " "))
  }

  /// `sha224:…` and the like before a command: it has to be that very file, which changes nothing for us.
  private mutating func skipDigests() throws(SudoersSyntaxError) {
    while bytes[at...].starts(with: "sha".utf8) {
      at += 3
      _ = try word(until: ":")
      try expect(":")
      _ = try word(until: ",#")
      skipBlanks()
      if take(",") { skipBlanks() }
    }
  }

  /// A regular expression from `^` to the `$` that a blank, a comma or the end follows.
  private mutating func expression() throws(SudoersSyntaxError) -> String {
    let start = at
    while let b = byte {
      at += 1
      if b == UInt8(ascii: "$"), byte.map({ Self.isBlank($0) || $0 == UInt8(ascii: ",") }) ?? true {
        return String(decoding: bytes[start..<at], as: UTF8.self)
      }
    }
    throw failure
  }

  private mutating func commandWord(isPath: Bool) throws(SudoersSyntaxError) -> String {
    try rawWord(stops: ",:=#", unescapes: ",:=# ")
  }

  private mutating func argument() throws(SudoersSyntaxError) -> String {
    try rawWord(stops: ",:=#", unescapes: ":\\,=# ")
  }

  /// Escapes of other bytes than `unescapes` stay as they are: they belong to the pattern.
  private mutating func rawWord(
    stops: StaticString, unescapes: StaticString
  ) throws(SudoersSyntaxError) -> String {
    let stops = stops.withUTF8Buffer { Array($0) }
    let unescapes = unescapes.withUTF8Buffer { Array($0) }
    var out: [UInt8] = []
    while let b = byte, !Self.isBlank(b), !stops.contains(b) {
      if b == UInt8(ascii: "\\") {
        guard at + 1 < bytes.count else { throw failure }
        if !unescapes.contains(bytes[at + 1]) { out.append(b) }
        out.append(bytes[at + 1])
        at += 2
      } else {
        out.append(b)
        at += 1
      }
    }
    guard !out.isEmpty else { throw failure }
    return String(decoding: out, as: UTF8.self)
  }
}
