import Posture

extension Unit {
  /// The commands that `key` leaves: `ExecStart=` lines after the last empty one, with place. `$NAME` is replaced by the
  /// unit's own environment, and where it has none by `unset`: nothing, as systemd does.
  func commands(
    _ key: String = "ExecStart", environment: [String: String] = [:], unset: String = ""
  ) -> [UnitCommand] {
    values(key).flatMap { setting -> [UnitCommand] in
      UnitWords.split(setting.value).split(separator: ";").map { words in
        UnitCommand(words: run(Array(words), environment, unset), place: setting.place)
      }
    }.filter { !$0.words.isEmpty }
  }

  private func run(_ words: [String], _ environment: [String: String], _ unset: String) -> [String] {
    var words = words
    guard !words.isEmpty else { return [] }
    let prefix = words[0].prefix { "@-:+!|".contains($0) }
    words[0] = String(words[0].dropFirst(prefix.count))
    // "@" gives the program another name for itself as second word.
    if prefix.contains("@"), words.count > 1 { words.remove(at: 1) }
    let specifiers = UnitSpecifiers(name)
    if prefix.contains(":") { return words.map(specifiers.expand) }
    let program = specifiers.expand(words[0])
    var result = [program]
    var size = 0
    for word in words.dropFirst() {
      for piece in UnitWords.substitute(specifiers.expand(word), environment, unset) {
        size += piece.utf8.count + 1
        // A command line has an end (execve(2), ARG_MAX).
        guard size < 131_072 else { return result }
        result.append(piece)
      }
    }
    return result
  }

  /// Whether some variables are set only while the system runs: by a file that is made then, or by the manager's own.
  func hasLateEnvironment(_ system: System) -> Bool {
    values("EnvironmentFile").contains { setting in
      let path = expand(setting.value.hasPrefix("-") ? String(setting.value.dropFirst()) : setting.value)
      return UnknownText.isMadeWhileRunning(path) && !system.exists(path)
    } || !values("PassEnvironment").isEmpty
  }

  /// `Environment=` of the unit, later assignments winning; `files` reads an `EnvironmentFile=`.
  func environment(_ files: (String) -> String?) -> [String: String] {
    var result: [String: String] = [:]
    for setting in values("Environment") {
      for word in UnitWords.split(setting.value) { UnitWords.assign(expand(word), in: &result) }
    }
    for setting in values("EnvironmentFile") {
      let path = setting.value.hasPrefix("-") ? String(setting.value.dropFirst()) : setting.value
      for line in LogicalLines(files(expand(path)) ?? "") {
        guard let equals = line.text.firstIndex(of: "=") else { continue }
        let value = UnitWords.split(line.text[line.text.index(after: equals)...].trimmed).joined(separator: " ")
        result[line.text[..<equals].trimmed] = value
      }
    }
    let unset = unsetVariables
    return unset.isEmpty ? result : result.filter { !Self.unsets(unset, $0.key, $0.value) }
  }

  /// Whether `UnsetEnvironment=` takes a variable away at last, wherever it was set.
  func unsets(_ name: String, _ value: String) -> Bool { Self.unsets(unsetVariables, name, value) }

  /// By its name, or by this very assignment.
  private static func unsets(_ words: Set<String>, _ name: String, _ value: String) -> Bool {
    words.contains(name) || words.contains("\(name)=\(value)")
  }

  private var unsetVariables: Set<String> {
    Set(values("UnsetEnvironment").flatMap { UnitWords.split($0.value) }.map(expand))
  }
}

/// Words of a value (systemd.syntax(7), "Quoting"; systemd.service(5), "Command lines").
enum UnitWords {
  /// Splits at blanks; quotes and C escapes are resolved, unknown escapes stay as they are. A quotation that nothing
  /// ends reaches to the end of the text.
  static func split(_ text: String, resolvesEscapes: Bool = true) -> [String] {
    read(text, resolvesEscapes: resolvesEscapes).words
  }

  /// Whether every quotation has its end.
  static func isComplete(_ text: String) -> Bool { read(text).isComplete }

  private static func read(_ text: String, resolvesEscapes: Bool = true) -> (words: [String], isComplete: Bool) {
    var words = WordCollector()
    var quote: UInt8?
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\\") where resolvesEscapes: words.append(escape(&rest))
      case _ where byte == quote: quote = nil
      // Within a word too, whatever the manual says (extract_first_word).
      case UInt8(ascii: "\"") where quote == nil, UInt8(ascii: "'") where quote == nil:
        quote = byte
        words.open()
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"):
        if quote == nil { words.close() } else { words.append(byte) }
      default: words.append(byte)
      }
    }
    return (words.finish(), quote == nil)
  }

  private static let simpleEscapes: [UInt8: UInt8] = [
    UInt8(ascii: "a"): 7, UInt8(ascii: "b"): 8, UInt8(ascii: "f"): 12, UInt8(ascii: "n"): 10, UInt8(ascii: "r"): 13,
    UInt8(ascii: "t"): 9, UInt8(ascii: "v"): 11, UInt8(ascii: "s"): 32, UInt8(ascii: "\\"): 92, UInt8(ascii: "'"): 39,
    UInt8(ascii: "\""): 34,
  ]

  private static func escape(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
    guard let next = rest.popFirst() else { return [UInt8(ascii: "\\")] }
    if let simple = simpleEscapes[next] { return [simple] }
    if next == UInt8(ascii: "x"), rest.count >= 2,
      let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
    {
      rest = rest.dropFirst(2)
      return [value]
    }
    return [UInt8(ascii: "\\"), next]
  }

  static func assign(_ word: String, in environment: inout [String: String]) {
    guard let equals = word.firstIndex(of: "=") else { return }
    environment[String(word[..<equals])] = String(word[word.index(after: equals)...])
  }

  /// `$NAME` as a word of its own becomes the value's words, `${NAME}` becomes the value, "$$" a dollar.
  static func substitute(_ word: String, _ environment: [String: String], _ unset: String) -> [String] {
    if word.hasPrefix("$"), !word.hasPrefix("${"), !word.hasPrefix("$$"), word.count > 1 {
      return split(environment[String(word.dropFirst())] ?? unset)
    }
    guard word.contains("$") else { return [word] }
    var result = ""
    var rest = word[...]
    var canClose = true
    while let first = rest.first {
      if canClose, rest.hasPrefix("${") {
        if let end = rest.firstIndex(of: "}") {
          result += environment[String(rest[rest.index(rest.startIndex, offsetBy: 2)..<end])] ?? unset
          rest = rest[rest.index(after: end)...]
          continue
        }
        canClose = false
      }
      result.append(first)
      rest = rest.dropFirst(rest.hasPrefix("$$") ? 2 : 1)
    }
    return [result]
  }
}

/// Replaces `%i` and its like. A template without instance keeps "%i" and "%I", so that the caller sees the hole.
struct UnitSpecifiers {
  private let name: UnitName

  init(_ name: UnitName) { self.name = name }

  func expand(_ text: String) -> String {
    guard text.contains("%") else { return text }
    var result = ""
    var rest = text[...]
    while let first = rest.popFirst() {
      guard first == "%", let letter = rest.first else {
        result.append(first)
        continue
      }
      rest = rest.dropFirst()
      result += value(letter) ?? "%\(letter)"
    }
    return result
  }

  private func value(_ letter: Character) -> String? {
    switch letter {
    case "%": "%"
    case "i": name.isTemplate ? nil : name.instance ?? ""
    case "I": name.isTemplate ? nil : UnitName.unescape(name.instance ?? "")
    case "n": name.text
    case "N": String(name.text.dropLast(name.type.count + 1))
    case "p": name.prefix
    case "P": UnitName.unescape(name.prefix)
    case "j": name.prefix.split(separator: "-").last.map(String.init) ?? ""
    case "J": UnitName.unescape(name.prefix.split(separator: "-").last.map(String.init) ?? "")
    default: nil
    }
  }
}
