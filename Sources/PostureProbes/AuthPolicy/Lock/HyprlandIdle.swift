import Posture

/// Hyprland with hypridle and hyprlock.
struct HyprlandIdle {
  private let home: UserFiles
  private let context: AuthContext

  init(_ home: UserFiles, _ context: AuthContext) {
    self.home = home
    self.context = context
  }

  private static let files = [
    ".config/hypr/hyprland.conf", "/etc/xdg/hypr/hyprland.conf", "/etc/hypr/hyprland.conf",
    "/usr/share/hypr/hyprland.conf",
  ]

  var lock: IdleLock {
    get throws(UserFiles.Fault) {
      if let started = try started {
        switch started.name {
        case "hypridle": return try Self.hypridle(home, started.place)
        case "swayidle": return Self.swayidle(started.arguments, started.place)
        default:
          return .unknown(
            [Reason("idle.daemon", started.place)],
            Cause("notModelled", observed: started.name, evidence: [started.place]))
        }
      }
      let place = try home.first(Self.files).map { Place($0.path) }
      return .open(
        [Reason("idle.noDaemon", place)],
        Cause("idleNotLocked", observed: "hyprland starts no idle daemon", evidence: place.map { [$0] }))
    }
  }

  private var started: UserServices.Daemon? {
    get throws(UserFiles.Fault) {
      var budget = 64
      if let file = try home.first(Self.files), let found = try Self.started(file.text, file.path, home, &budget) {
        return found
      }
      return UserServices(home).daemon
    }
  }

  private static func started(_ text: String, _ path: String, _ home: UserFiles, _ budget: inout Int) throws(UserFiles
    .Fault)
    -> UserServices.Daemon?
  {
    for line in HyprConfig(text, path).settings {
      if line.key == "exec-once" || line.key == "exec" {
        let words = ShellWords.split(line.value)
        if let name = words.first(where: { IdleCommands.daemons.contains(Programs.base($0)) }) {
          return UserServices.Daemon(
            name: Programs.base(name), arguments: Array(words.drop { $0 != name }.dropFirst()), place: line.place)
        }
      } else if line.key == "source", budget > 0, line.value.hasPrefix("~/") {
        budget -= 1
        let name = String(line.value.dropFirst(2))
        if let text = try home.text(name), let found = try started(text, home.path(name), home, &budget) {
          return found
        }
      }
    }
    return nil
  }

  private static func swayidle(_ arguments: [String], _ place: Place) -> IdleLock {
    guard let lock = Swayidle(arguments: arguments).lock else {
      return .unknown(
        [Reason("swayidle.command", place)], Cause("notModelled", observed: "swayidle", evidence: [place]))
    }
    return .locked(by: lock.locker, [Reason("swayidle.timeout", place)], note: "idle after \(lock.seconds) s")
  }

  /// hypridle.conf: a listener whose command locks, directly or through `lock_cmd`.
  static func hypridle(_ home: UserFiles, _ place: Place) throws(UserFiles.Fault) -> IdleLock {
    guard let file = try home.first([".config/hypr/hypridle.conf", "/etc/xdg/hypr/hypridle.conf"]) else {
      return .open(
        [Reason("hypridle.noFile", place)],
        Cause("idleNotLocked", observed: "hypridle without a file", evidence: [place]))
    }
    let config = HyprConfig(file.text, file.path)
    let command = config.settings.last { $0.section == "general" && $0.key == "lock_cmd" }
    for listener in config.blocks("listener") {
      guard let action = listener.last(where: { $0.key == "on-timeout" }),
        let timeout = listener.last(where: { $0.key == "timeout" }).flatMap({ Int($0.value) }), timeout > 0
      else { continue }
      let direct = IdleCommands.locker(in: action.value)
      let asked = IdleCommands.locksSession(action.value) ? command.flatMap { IdleCommands.locker(in: $0.value) } : nil
      if let locker = direct ?? asked {
        return .locked(
          by: locker, [Reason("hypridle.listener", action.place)], note: "idle after \(timeout) s\(grace(home))")
      }
      if action.value.contains("lock") {
        return .unknown(
          [Reason("hypridle.command", action.place)],
          Cause("notModelled", observed: "hypridle runs a script", evidence: [action.place]))
      }
    }
    return .open(
      [Reason("hypridle.noLock", file: file.path)],
      Cause("idleNotLocked", observed: "hypridle locks nothing", evidence: [Place(file.path)]))
  }

  /// hyprlock opens without a passcode for so many seconds after it started.
  private static func grace(_ home: UserFiles) -> String {
    guard let file = (try? home.first([".config/hypr/hyprlock.conf", "/etc/xdg/hypr/hyprlock.conf"])) ?? nil,
      let seconds = HyprConfig(file.text, file.path).settings.last(where: {
        $0.section == "general" && $0.key == "grace"
      })
      .flatMap({ Int($0.value) }), seconds > 0
    else { return "" }
    return ", and \(seconds) s of grace"
  }
}

/// The grammar of Hyprland's files: `key = value`, `section {` … `}`, `$name = value`, `#` comments.
struct HyprConfig {
  struct Setting: Hashable {
    var section: String
    /// Counts the blocks, so that two listeners stay apart.
    var block: Int
    var key: String
    var value: String
    var place: Place
  }

  let settings: [Setting]

  init(_ text: String, _ path: String) {
    var settings: [Setting] = []
    var sections: [String] = []
    var variables = ConfigVariables()
    var block = 0
    var depth = 0
    for (index, raw) in text.lines(keepsEmpty: true).enumerated() {
      let line = raw.prefix { $0 != "#" }.trimmed
      if line.ends(with: "{") {
        if depth == 0 { block += 1 }
        depth += 1
        // Nobody nests deeper.
        if depth <= 16 { sections.append(line.dropLast().trimmed) }
      } else if line == "}" {
        if depth <= 16 { _ = sections.popLast() }
        depth = max(0, depth - 1)
      } else if let equals = line.firstIndex(of: "=") {
        var keys = line[..<equals].trimmed.split(separator: ":").map(String.init)
        let key = keys.popLast() ?? ""
        let value = variables.expand(line[line.index(after: equals)...].trimmed)
        if key.hasPrefix("$") {
          variables.set(key, value)
          continue
        }
        settings.append(
          Setting(
            section: (sections + keys).joined(separator: ":"), block: block, key: key,
            value: value, place: Place(path, line: index + 1)))
      }
    }
    self.settings = settings
  }

  /// The settings of each block of a section.
  func blocks(_ section: String) -> [[Setting]] {
    let own = Dictionary(grouping: settings.filter { $0.section == section }, by: \.block)
    return own.sorted { $0.key < $1.key }.map(\.value)
  }
}
