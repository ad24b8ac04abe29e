import Posture

/// sway and i3: the configuration starts an idle daemon, or nothing locks.
struct WindowManagerIdle {
  private let home: UserFiles
  private let desktop: Desktop
  private let context: AuthContext
  private let lines: [ConfigLine]

  struct ConfigLine {
    var words: [String]
    var text: String
    var place: Place
  }

  init(_ home: UserFiles, _ desktop: Desktop, _ context: AuthContext) throws(UserFiles.Fault) {
    self.home = home
    self.desktop = desktop
    self.context = context
    guard let file = try home.first(Self.files(desktop)) else {
      lines = []
      return
    }
    var budget = 64
    var variables = ConfigVariables()
    lines = Self.lines(file.text, file.path, home, &variables, &budget)
  }

  private static func files(_ desktop: Desktop) -> [String] {
    desktop == .sway
      ? [".sway/config", ".config/sway/config", ".i3/config", ".config/i3/config", "/etc/sway/config"]
      : [".config/i3/config", ".i3/config", "/etc/xdg/i3/config", "/etc/i3/config"]
  }

  /// `budget` counts included files, so that files which include each other come to an end.
  private static func lines(
    _ text: String, _ path: String, _ home: UserFiles, _ variables: inout ConfigVariables, _ budget: inout Int
  ) -> [ConfigLine] {
    var result: [ConfigLine] = []
    var blocks: [String] = []
    for line in LogicalLines(text, comments: ["#"]) {
      if line.text == "}" {
        _ = blocks.popLast()
        continue
      }
      if line.text.ends(with: "{") {
        // Nobody nests deeper, or writes longer names.
        blocks.append(blocks.count < 8 && line.text.utf8.count < 128 ? line.text.dropLast().trimmed : "")
        continue
      }
      // In `exec {` … `}` each line is a command of its own.
      let written = (blocks.prefix(8) + [line.text]).joined(separator: " ")
      if let (name, value) = setting(written) {
        variables.set(name, variables.expand(value))
        continue
      }
      let text = variables.expand(written)
      let words = ShellWords.split(text)
      if words.first == "include", words.count > 1 {
        for (text, path) in budget > 0 ? included(words[1], home) : [] where budget > 0 {
          budget -= 1
          result += lines(text, path, home, &variables, &budget)
        }
      } else {
        result.append(ConfigLine(words: words, text: text, place: Place(path, line: line.number)))
      }
    }
    return result
  }

  /// `set $name value`, quotes around the whole value taken off.
  private static func setting(_ line: String) -> (name: String, value: String)? {
    let parts = line.split(maxSplits: 2) { $0 == " " || $0 == "\t" }
    guard parts.count == 3, parts[0] == "set", parts[1].hasPrefix("$") else { return nil }
    let value = parts[2].trimmed
    guard let quote = value.first, quote == "'" || quote == "\"", value.count > 1, value.last == quote,
      !value.dropFirst().dropLast().contains(quote)
    else { return (String(parts[1]), value) }
    return (String(parts[1]), String(value.dropFirst().dropLast()))
  }

  private static func included(_ pattern: String, _ home: UserFiles) -> [(text: String, path: String)] {
    let path = home.resolved(pattern)
    guard path.hasPrefix("/") else { return [] }
    return PathPattern.paths(path, home.system).prefix(256).compactMap { (try? home.named($0)) ?? nil }
  }

  /// Command lines that are started with the session.
  private var started: [(text: String, place: Place)] {
    lines.compactMap { line in
      guard let first = line.words.first, first == "exec" || first == "exec_always" else { return nil }
      var text = line.text.dropFirst(first.count).drop { $0 == " " || $0 == "\t" }
      while text.hasPrefix("--") { text = text.drop { $0 != " " }.drop { $0 == " " } }
      // `exec "command with arguments"`
      let words = ShellWords.split(String(text))
      return (words.count == 1 ? words[0] : String(text), line.place)
    }
  }

  var lock: IdleLock {
    get throws(UserFiles.Fault) {
      if let lock = try IdleDaemons(home: home, desktop: desktop, context: context).lock(started) { return lock }
      let place = lines.first.map { Place($0.place.file) }
      return .open(
        [Reason("idle.noDaemon", place)],
        Cause("idleNotLocked", observed: "\(desktop.rawValue) starts no idle daemon", evidence: place.map { [$0] }))
    }
  }
}
