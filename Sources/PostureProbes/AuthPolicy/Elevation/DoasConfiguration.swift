import Posture

/// doas.conf(5) of OpenDoas.
struct DoasConfiguration: Sendable {
  struct Rule: Hashable, Sendable {
    var isPermit: Bool
    var asksPassword: Bool
    /// A user's name or number, or a group with ":" in front.
    var identity: String
    /// nil: anybody, root too.
    var target: String?
    /// nil: any command.
    var command: String?
    /// nil: any arguments.
    var arguments: [String]?
    var place: Place
    var text: String

    /// The command with its arguments, as rows name it.
    var commandLine: String? { command.map { ([$0] + (arguments ?? [])).joined(separator: " ") } }
    var allowsRoot: Bool { target == nil || target == "root" || target == "0" }
  }

  /// Why doas works for nobody.
  struct Refusal: Error, Hashable, Sendable {
    var code: String
    var observed: String
    var place: Place
  }

  private(set) var rules: [Rule] = []

  /// Reads `files`, later ones after earlier ones; one that is not root's alone, or has an error, stops doas altogether.
  init(_ files: [String], on system: System) throws(Refusal) {
    for path in files { try add(path, system) }
  }

  private mutating func add(_ path: String, _ system: System) throws(Refusal) {
    let file: System.File
    do throws(System.Unreadable) { file = try system.read(path) } catch {
      if error == .missing { return }
      throw Refusal(
        code: error == .denied ? "unreadable" : "doasRefused", observed: "\(path) \(error.words)", place: Place(path))
    }
    if file.owner != 0 { throw Self.refused(path, "is owned by uid \(file.owner), not by root") }
    if file.mode & 0o022 != 0 { throw Self.refused(path, "is writable by others than root") }
    for line in Self.lines(file.text) {
      let place = Place(path, line: line.number)
      guard let words = Self.words(line.text) else { throw Self.refused(path, "has an open quote", line.number) }
      if words.isEmpty { continue }
      guard let rule = Rule(words, place, line.text) else {
        throw Self.refused(path, "cannot be read: \(line.text.trimmed.prefix(120))", line.number)
      }
      rules.append(rule)
    }
  }

  private static func refused(_ path: String, _ words: String, _ line: Int? = nil) -> Refusal {
    Refusal(code: "doasRefused", observed: "\(path) \(words)", place: Place(path, line: line))
  }

  // MARK: Words

  /// Lines, joined where a backslash ends one.
  private static func lines(_ text: String) -> [(text: String, number: Int)] {
    var result: [(text: String, number: Int)] = []
    var pending: (text: String, number: Int)?
    for (index, line) in text.lines(keepsEmpty: true).enumerated() {
      var current = pending ?? ("", index + 1)
      if line.ends(with: "\\") {
        current.text += line.dropLast()
        pending = current
      } else {
        current.text += line
        result.append(current)
        pending = nil
      }
    }
    return result + (pending.map { [$0] } ?? [])
  }

  /// Words with quotes and escapes resolved, braces as words of their own; nil for an open quote.
  private static func words(_ line: String) -> [String]? {
    var words: [String] = []
    var word: String?
    var isQuoted = false
    var isEscaped = false
    for character in line {
      if isEscaped {
        word = (word ?? "") + String(character)
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else if character == "\"" {
        isQuoted.toggle()
        word = word ?? ""
      } else if isQuoted {
        word = (word ?? "") + String(character)
      } else if character == "#" {
        break
      } else if character == " " || character == "\t" || character == "\r" || character == "{" || character == "}" {
        if let word { words.append(word) }
        word = nil
        if character == "{" || character == "}" { words.append(String(character)) }
      } else {
        word = (word ?? "") + String(character)
      }
    }
    if isQuoted { return nil }
    if let word { words.append(word) }
    return words
  }
}

extension DoasConfiguration.Rule {
  /// nil for anything that the grammar does not have.
  init?(_ words: [String], _ place: Place, _ text: String) {
    guard let action = words.first, action == "permit" || action == "deny" else { return nil }
    isPermit = action == "permit"
    asksPassword = true
    self.place = place
    self.text = String(text.trimmed.prefix(160))
    var rest = words.dropFirst()
    guard isPermit == false || Self.takeOptions(&rest, &asksPassword) else { return nil }
    guard let identity = rest.popFirst(), identity != ":", !identity.isEmpty else { return nil }
    self.identity = identity
    if rest.first == "as" {
      rest.removeFirst()
      guard let target = rest.popFirst() else { return nil }
      self.target = target
    }
    guard rest.first == "cmd" else {
      guard rest.isEmpty else { return nil }
      return
    }
    rest.removeFirst()
    guard let command = rest.popFirst() else { return nil }
    self.command = command
    guard !rest.isEmpty else { return }
    guard rest.removeFirst() == "args" else { return nil }
    arguments = Array(rest)
  }

  private static func takeOptions(_ rest: inout ArraySlice<String>, _ asksPassword: inout Bool) -> Bool {
    while let word = rest.first, ["nopass", "persist", "keepenv", "nolog", "setenv"].contains(word) {
      rest.removeFirst()
      if word == "nopass" { asksPassword = false }
      if word == "setenv" {
        guard rest.first == "{", let end = rest.firstIndex(of: "}") else { return false }
        rest = rest[(end + 1)...]
      }
    }
    return true
  }
}
