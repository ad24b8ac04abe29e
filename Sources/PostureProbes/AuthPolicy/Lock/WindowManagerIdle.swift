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
    for line in LogicalLines(text, comments: ["#"]) {
      if let (name, value) = setting(line.text) {
        variables.set(name, variables.expand(value))
        continue
      }
      let text = variables.expand(line.text)
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

  /// A file, or `folder/*`.
  private static func included(_ pattern: String, _ home: UserFiles) -> [(String, String)] {
    let path = pattern.hasPrefix("~/") ? home.path(String(pattern.dropFirst(2))) : pattern
    guard path.hasPrefix("/") else { return [] }
    let names: [String]
    if path.contains("*") {
      let folder = path.split(separator: "/").dropLast().joined(separator: "/")
      let last = Programs.base(path)
      names = ((try? home.system.list("/\(folder)")) ?? []).prefix(256).filter { Glob.matches($0, last) }
        .map { "/\(folder)/\($0)" }
    } else {
      names = [path]
    }
    return names.compactMap { name in
      let inHome = name.hasPrefix(home.path(""))
      let text = inHome ? (try? home.text(String(name.dropFirst(home.path("").count)))) ?? nil : home.system.text(name)
      return text.map { ($0, name) }
    }
  }

  /// Commands that are started with the session.
  private var started: [ConfigLine] {
    lines.compactMap { line in
      guard let first = line.words.first, first == "exec" || first == "exec_always" else { return nil }
      var line = line
      line.words = Array(line.words.dropFirst().drop { $0.hasPrefix("--") })
      // `exec "command with arguments"`
      if line.words.count == 1 { line.words = ShellWords.split(line.words[0]) }
      return line
    }
  }

  var lock: IdleLock {
    get throws(UserFiles.Fault) {
      let user = UserServices(home)
      for line in started {
        guard let name = line.words.first(where: { IdleCommands.daemons.contains(Programs.base($0)) }) else { continue }
        return try daemon(Programs.base(name), Array(line.words.drop { $0 != name }.dropFirst()), line.place)
      }
      if let service = user.daemon { return try daemon(service.name, service.arguments, service.place) }
      if let script = started.first(where: mayLock) {
        return .unknown(
          [Reason("idle.script", script.place)], Cause("notModelled", observed: script.text, evidence: [script.place]))
      }
      let place = lines.first.map { Place($0.place.file) }
      return .open(
        [Reason("idle.noDaemon", place)],
        Cause("idleNotLocked", observed: "\(desktop.rawValue) starts no idle daemon", evidence: place.map { [$0] }))
    }
  }

  private func daemon(_ name: String, _ arguments: [String], _ place: Place) throws(UserFiles.Fault) -> IdleLock {
    switch name {
    case "swayidle": return try swayidle(arguments, place)
    case "xss-lock", "xautolock", "xidlehook": return XIdle.daemon(name, arguments, place)
    case "hypridle": return try HyprlandIdle.hypridle(home, place)
    default: return .unknown([Reason("idle.daemon", place)], Cause("notModelled", observed: name, evidence: [place]))
    }
  }

  private func swayidle(_ arguments: [String], _ place: Place) throws(UserFiles.Fault) -> IdleLock {
    var settings = Swayidle(arguments: arguments)
    var place = place
    if settings.timeouts.isEmpty,
      let file = try home.first([
        ".config/swayidle/config", ".swayidle/config", "/etc/swayidle/config", "/etc/xdg/swayidle/config",
      ])
    {
      let own = Swayidle(file: file.text)
      settings = own
      place = Place(file.path)
    }
    if let lock = settings.lock {
      return .locked(by: lock.locker, [Reason("swayidle.timeout", place)], note: "idle after \(lock.seconds) s")
    }
    if settings.mystery != nil {
      return .unknown(
        [Reason("swayidle.command", place)], Cause("notModelled", observed: "swayidle runs a script", evidence: [place])
      )
    }
    return .open(
      [Reason("swayidle.noLock", place)], Cause("idleNotLocked", observed: "swayidle locks nothing", evidence: [place]))
  }

  /// A script of the user's that names an idle daemon.
  private func mayLock(_ line: ConfigLine) -> Bool {
    guard let program = line.words.first else { return false }
    let path =
      program.hasPrefix("~/")
      ? home.path(String(program.dropFirst(2))) : program.substituting("$HOME", with: home.account.home)
    guard path.hasPrefix("/") else { return false }
    let inHome = path.hasPrefix(home.path(""))
    let text = inHome ? (try? home.text(String(path.dropFirst(home.path("").count)))) ?? nil : home.system.text(path)
    return text.map { text in IdleCommands.daemons.contains { text.contains($0) } } ?? false
  }
}

/// Services of a user's own systemd that are linked to a target: `swayidle.service`, `hypridle.service`.
struct UserServices {
  let home: UserFiles

  init(_ home: UserFiles) { self.home = home }

  struct Daemon {
    var name: String
    var arguments: [String]
    var place: Place
  }

  private static let targets = [
    "graphical-session.target", "default.target", "sway-session.target", "hyprland-session.target",
    "wayland-session.target",
  ]

  var daemon: Daemon? {
    for name in ["swayidle", "hypridle"] where isLinked("\(name).service") {
      let paths = [
        ".config/systemd/user/\(name).service", "/etc/systemd/user/\(name).service",
        "/usr/lib/systemd/user/\(name).service",
      ]
      guard let file = (try? home.first(paths)) ?? nil else {
        return Daemon(name: name, arguments: [], place: Place(home.path(".config/systemd/user")))
      }
      let unit = Unit(
        name: UnitName("\(name).service")!, fragment: file.path, isMasked: false,
        settings: UnitFile.parse(file.text, path: file.path))
      guard let command = unit.commands().last else { return nil }
      return Daemon(name: name, arguments: command.arguments, place: command.place)
    }
    return nil
  }

  private func isLinked(_ unit: String) -> Bool {
    Self.targets.contains { target in
      [home.path(".config/systemd/user"), "/etc/systemd/user", "/usr/lib/systemd/user"].contains { folder in
        let path = "\(folder)/\(target).wants/\(unit)"
        return home.system.link(path) != nil || home.system.exists(path)
      }
    }
  }
}
