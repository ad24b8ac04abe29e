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
    var allowsRoot: Bool { target == nil || target == "root" || target.flatMap { UInt32($0) } == 0 }
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
    var lines = DoasLines(file.bytes)
    while let line = lines.next() {
      if line.words.isEmpty, !line.isBroken { continue }
      guard !line.isBroken, let rule = Rule(line.words, Place(path, line: line.number), line.text) else {
        throw Self.refused(path, "cannot be read: \(line.text.trimmed.prefix(120))", line.number)
      }
      // Nobody has an empty name.
      if !rule.identity.isEmpty { rules.append(rule) }
    }
  }

  private static func refused(_ path: String, _ words: String, _ line: Int? = nil) -> Refusal {
    Refusal(code: "doasRefused", observed: "\(path) \(words)", place: Place(path, line: line))
  }
}

extension DoasConfiguration.Rule {
  /// nil for anything that the grammar does not have.
  init?(_ words: [DoasLines.Word], _ place: Place, _ text: String) {
    var rest = words[...]
    let action = rest.popFirst()
    guard action == .keyword("permit") || action == .keyword("deny") else { return nil }
    isPermit = action == .keyword("permit")
    asksPassword = true
    self.place = place
    self.text = String(text.trimmed.prefix(160))
    guard !isPermit || Self.takeOptions(&rest, &asksPassword), let identity = Self.takeText(&rest) else { return nil }
    self.identity = identity
    if Self.take("as", &rest) {
      guard let target = Self.takeText(&rest) else { return nil }
      self.target = target
    }
    if Self.take("cmd", &rest) {
      guard let command = Self.takeText(&rest) else { return nil }
      self.command = command
      if Self.take("args", &rest) { arguments = Self.takeTexts(&rest) }
    }
    guard rest.isEmpty else { return nil }
  }

  private static func take(_ keyword: String, _ rest: inout ArraySlice<DoasLines.Word>) -> Bool {
    guard rest.first == .keyword(keyword) else { return false }
    rest.removeFirst()
    return true
  }

  /// A keyword is no text.
  private static func takeText(_ rest: inout ArraySlice<DoasLines.Word>) -> String? {
    guard case .text(let text) = rest.first else { return nil }
    rest.removeFirst()
    return text
  }

  private static func takeTexts(_ rest: inout ArraySlice<DoasLines.Word>) -> [String] {
    var texts: [String] = []
    while let text = takeText(&rest) { texts.append(text) }
    return texts
  }

  /// `nopass` and `persist` exclude each other, and there is one `setenv` at most.
  private static func takeOptions(_ rest: inout ArraySlice<DoasLines.Word>, _ asksPassword: inout Bool) -> Bool {
    var seen = Set<String>()
    while let word = ["nopass", "persist", "keepenv", "nolog", "setenv"].first(where: { take($0, &rest) }) {
      let isNew = seen.insert(word).inserted
      guard word == "setenv" else { continue }
      guard isNew, rest.popFirst() == .brace("{") else { return false }
      _ = takeTexts(&rest)
      guard rest.popFirst() == .brace("}") else { return false }
    }
    asksPassword = !seen.contains("nopass")
    return asksPassword || !seen.contains("persist")
  }
}
