import Posture

/// greetd (greetd(5)).
struct Greetd {
  private let context: AuthContext
  private let path: String

  init(_ context: AuthContext) {
    self.context = context
    path = Self.configuration(context)
  }

  /// `--config` of the unit, or the usual place.
  private static func configuration(_ context: AuthContext) -> String {
    let words = context.startup.units.unit("greetd.service")?.commands().last?.words ?? []
    for (index, word) in words.enumerated() {
      if word.hasPrefix("--config=") { return String(word.dropFirst(9)) }
      if word == "--config" || word == "-c", index + 1 < words.count { return words[index + 1] }
    }
    return "/etc/greetd/config.toml"
  }

  var setup: DisplayManagerSetup {
    let text: String
    do throws(System.Unreadable) { text = try context.system.read(path).text } catch {
      // Without its file greetd does not run.
      guard error == .missing else {
        return DisplayManagerSetup(
          fault: Cause("unreadable", observed: "\(path) \(error.words)", evidence: [Place(path)]))
      }
      return DisplayManagerSetup(services: [service(nil)])
    }
    let table = TOMLTable(text)
    var setup = DisplayManagerSetup(services: [service(table["general", "service"]?.text)], fault: fault(table))
    guard setup.fault == nil else { return setup }
    for login in [initial(table), standing(table)] { if let login { setup.automatic.append(login) } }
    return setup
  }

  // MARK: What greetd refuses

  private func fault(_ table: TOMLTable) -> Cause? {
    refusal(of: table).map { words, line in
      Cause("displayManagerBroken", observed: "\(path) \(words)", evidence: [Place(path, line: line)])
    }
  }

  /// Without these greetd does not start; the last is needed where its table stands.
  private static let needed = [
    ("terminal", ["vt"]), ("default_session", ["command"]), ("initial_session", ["command", "user"]),
  ]

  /// Its own reader takes less than TOML allows.
  private func refusal(of table: TOMLTable) -> (words: String, line: Int?)? {
    if let line = table.refused { return ("has a line that greetd does not take", line) }
    for (name, keys) in Self.needed where name != "initial_session" || table.headers.contains(name) {
      for key in keys {
        guard table.headers.contains(name), let value = table[name, key], !value.text.isEmpty else {
          return ("has no \(name).\(key)", nil)
        }
        if !value.isWhole { return ("has more behind \(name).\(key)", value.line) }
      }
    }
    let user = table["default_session", "user"] ?? TOMLTable.Value(text: "greeter")
    let isMissing = context.accounts[user.text] == nil && context.accounts.externalSources.isEmpty
    return isMissing || !user.isWhole ? ("needs a user \(user.text)", user.line) : nil
  }

  /// `greetd` if its file is in one of two places, else `login`.
  private func service(_ named: String?) -> String {
    if let named { return named }
    return isThere("greetd") ? "greetd" : "login"
  }

  private func isThere(_ service: String) -> Bool {
    ["/etc/pam.d/\(service)", "/usr/lib/pam.d/\(service)"].contains(where: context.system.exists)
  }

  /// The service of a session's own, where it has a file; else it is the one of all.
  private func service(of session: String, in table: TOMLTable, usually: String? = nil) -> String? {
    (table[session, "service"]?.text ?? usually).flatMap { isThere($0) ? $0 : nil }
  }

  private func initial(_ table: TOMLTable) -> AutomaticLogin? {
    guard let user = table["initial_session", "user"], table["initial_session", "command"] != nil, !user.text.isEmpty
    else { return nil }
    return AutomaticLogin(
      user: user.text, place: Place(path, line: user.line), service: nil,
      unasked: service(of: "initial_session", in: table), oncePerBoot: true,
      note: "initial session once per boot", observed: "[initial_session] user = \(user.text)")
  }

  /// The default session is the greeter's; with a person as its user it is that person's, unless it runs a greeter.
  private func standing(_ table: TOMLTable) -> AutomaticLogin? {
    guard let user = table["default_session", "user"], let account = context.accounts[user.text],
      account.kind != .service, !isGreeter(table["default_session", "command"]?.text ?? "")
    else { return nil }
    return AutomaticLogin(
      user: user.text, place: Place(path, line: user.line), service: nil,
      unasked: service(of: "default_session", in: table, usually: "greetd-greeter"), oncePerBoot: false,
      note: "default session, again after each logout", observed: "[default_session] user = \(user.text)")
  }

  private static let greeters = [
    "agreety", "tuigreet", "gtkgreet", "regreet", "qtgreet", "wlgreet", "ddlm", "nwg-hello", "cosmic-greeter",
  ]

  /// A command that runs a greeter, itself or by a script or a compositor's file; `depth` ends what leads in a circle.
  private func isGreeter(_ command: String, depth: Int = 3) -> Bool {
    if Self.namesGreeter(command) { return true }
    guard depth > 0 else { return false }
    return SimpleCommands.of(command).flatMap(files).contains { text in
      LogicalLines(text, comments: ["#"]).prefix(500).contains { isGreeter($0.text, depth: depth - 1) }
    }
  }

  private static func namesGreeter(_ command: String) -> Bool {
    command.split { " \t'\"/;&|()".contains($0) }.contains { greeters.contains(String($0)) || $0.ends(with: "greet") }
  }

  /// The texts that a command runs: a script, and what `--config` names.
  private func files(_ words: [String]) -> [String] {
    let program = words[0].hasPrefix("/") ? words[0] : Programs.path(words[0], context.system)
    let script = program.flatMap { try? context.system.read($0) }.flatMap { file in
      file.bytes.starts(with: "#!".utf8) ? file.text : nil
    }
    let configuration = words.indices.dropFirst().compactMap { index -> String? in
      if words[index].hasPrefix("--config=") { return String(words[index].dropFirst(9)) }
      return ["-c", "--config"].contains(words[index - 1]) ? words[index] : nil
    }
    return [script].compactMap { $0 } + configuration.compactMap(context.system.text)
  }
}

/// The flat part of TOML: tables of strings and numbers, also inline ones and dotted keys.
struct TOMLTable {
  struct Value: Hashable {
    var text: String
    var line: Int?
    /// Nothing stands behind it, not even a comment.
    var isWhole = true
  }

  private var values: [String: Value] = [:]
  /// The tables that have a line of their own.
  private(set) var headers = Set<String>()
  /// The first line that is no header, key or comment of its own, which is all that greetd's reader knows.
  private(set) var refused: Int?

  init(_ text: String) {
    var table = ""
    for (index, raw) in text.lines(keepsEmpty: true).enumerated() {
      let line = raw.trimmed
      if line.isEmpty || line.hasPrefix("#") { continue }
      if line.hasPrefix("["), let end = line.firstIndex(of: "]") {
        table = line[line.index(after: line.startIndex)..<end].trimmed
        headers.insert(table)
        if !line.ends(with: "]") { refused = refused ?? index + 1 }
      } else if !line.hasPrefix("["), let equals = line.firstIndex(of: "=") {
        add(table, line[..<equals].trimmed, line[line.index(after: equals)...].trimmed, index + 1)
      } else {
        refused = refused ?? index + 1
      }
    }
  }

  private mutating func add(_ table: String, _ key: String, _ text: String, _ line: Int) {
    let name = (table.isEmpty ? "" : "\(table).") + key.filter { $0 != "\"" && $0 != " " }
    guard text.hasPrefix("{") else {
      values[name] = Self.value(text, line)
      return
    }
    for (key, text) in Self.pairs(text.dropFirst()) {
      values["\(name).\(key)"] = Self.value(text, line)
    }
  }

  /// `a = "x", b = 1 }`
  private static func pairs(_ text: Substring) -> [(String, String)] {
    var parts = [""]
    var quote: Character?
    for character in text {
      if quote == nil, character == "}" { break }
      if quote == nil, character == "," {
        parts.append("")
        continue
      }
      if character == quote {
        quote = nil
      } else if quote == nil, character == "\"" || character == "'" {
        quote = character
      }
      parts[parts.count - 1].append(character)
    }
    return parts.compactMap { part in
      part.firstIndex(of: "=").map { (part[..<$0].trimmed, part[part.index(after: $0)...].trimmed) }
    }
  }

  subscript(table: String, key: String) -> Value? { values["\(table).\(key)"] }

  private static func value(_ text: String, _ line: Int) -> Value {
    guard let quote = text.first, quote == "\"" || quote == "'" else {
      return Value(text: text.prefix { $0 != "#" }.trimmed, line: line, isWhole: !text.contains("#"))
    }
    var result = ""
    var rest = text.dropFirst()
    while let character = rest.popFirst(), character != quote {
      if character == "\\", quote == "\"", let next = rest.popFirst() {
        result.append(next)
      } else {
        result.append(character)
      }
    }
    return Value(text: result, line: line, isWhole: rest.isEmpty && text.last == quote)
  }
}
