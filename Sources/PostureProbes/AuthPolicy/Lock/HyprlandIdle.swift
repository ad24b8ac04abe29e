import Posture
import PosturePlatform

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

  private static let starting: Set = ["exec-once", "exec", "execr-once", "execr"]

  var lock: IdleLock {
    get throws(UserFiles.Fault) {
      let file = try home.first(Self.files)
      let config = try file.map { file throws(UserFiles.Fault) in try HyprConfig(file, home) }
      let started = (config?.settings ?? []).filter { Self.starting.contains($0.key) }
        .map { (text: Self.command($0.value), place: $0.place) }
      let lock = try IdleDaemons(home: home, desktop: .hyprland, context: context).lock(started)
      if let lock, lock.isLocked { return lock }
      if let place = config?.unfollowed {
        return .unknown(
          [Reason("hyprland.source", place)],
          Cause("notModelled", observed: "a source that cannot be followed", evidence: [place]))
      }
      let place = file.map { Place($0.path) }
      return lock
        ?? .open(
          [Reason("idle.noDaemon", place)],
          Cause("idleNotLocked", observed: "hyprland starts no idle daemon", evidence: place.map { [$0] }))
    }
  }

  /// Without the rules for its window: `[workspace 1 silent] kitty`.
  private static func command(_ value: String) -> String {
    guard value.hasPrefix("["), let end = value.firstIndex(of: "]") else { return value }
    return value[value.index(after: end)...].trimmed
  }

  /// hypridle.conf: a listener whose command locks, directly or through `lock_cmd`.
  static func hypridle(
    _ home: UserFiles, _ arguments: [String], _ place: Place
  ) throws(UserFiles.Fault) -> IdleLock {
    let option = arguments.firstIndex { $0 == "-c" || $0 == "--config" }
    let named = option.flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
    let usual = [".config/hypr/hypridle.conf", "/etc/xdg/hypr/hypridle.conf"]
    guard let file = try named == nil ? home.first(usual) : home.named(named ?? "") else {
      return .open(
        [Reason("hypridle.noFile", place)],
        Cause("idleNotLocked", observed: "hypridle without a file", evidence: [place]))
    }
    let config = try HyprConfig(file, home)
    let general = { (key: String) in
      config.settings.last { $0.section == "general" && $0.key == key }.flatMap { $0.value.isEmpty ? nil : $0.value }
    }
    let listening = general("lock_cmd")
    for listener in config.blocks("listener") {
      guard let action = listener.last(where: { $0.key == "on-timeout" }),
        let timeout = listener.last(where: { $0.key == "timeout" }).flatMap({ Int($0.value) }), timeout > 0
      else { continue }
      let commands = IdleCommands.commands(action.value, beforeSleep: general("before_sleep_cmd"))
      if let locker = IdleCommands.locker(in: commands, listener: listening) {
        return .locked(
          by: locker, [Reason("hypridle.listener", action.place)], note: "idle after \(timeout) s\(grace(home))")
      }
      if commands.contains(where: { $0.contains("lock") && !IdleCommands.isUnheard($0, listener: listening) }) {
        return .unknown(
          [Reason("hypridle.command", action.place)],
          Cause("notModelled", observed: "hypridle runs a script", evidence: [action.place]))
      }
    }
    if let place = config.unfollowed {
      return .unknown(
        [Reason("hyprland.source", place)],
        Cause("notModelled", observed: "a source that cannot be followed", evidence: [place]))
    }
    return .open(
      [Reason("hypridle.noLock", file: file.path)],
      Cause("idleNotLocked", observed: "hypridle locks nothing", evidence: [Place(file.path)]))
  }

  /// hyprlock opens without a passcode for so many seconds after it started.
  private static func grace(_ home: UserFiles) -> String {
    let settings = (try? Hyprlock.settings(home)) ?? []
    let grace = settings.last { $0.section == "general" && $0.key == "grace" }
    guard let seconds = grace.flatMap({ Int($0.value) }), seconds > 0 else { return "" }
    return ", and \(seconds) s of grace"
  }
}

/// The grammar of Hyprland's files: `key = value`, `section {` … `}`, `$name = value`, `source = path`, `#` comments.
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
  /// A `source` that leads nobody knows where.
  let unfollowed: Place?

  /// With the files that it names in `source`; without a home none can be followed.
  init(_ file: (text: String, path: String), _ home: UserFiles?) throws(UserFiles.Fault) {
    var reader = Reader(home: home)
    try reader.read(file)
    settings = reader.settings
    unfollowed = reader.unfollowed
  }

  static func isTrue(_ text: String) -> Bool { ["true", "yes", "on", "1"].contains(text.lowercased()) }

  private struct Reader {
    let home: UserFiles?
    var settings: [Setting] = []
    var unfollowed: Place?
    private var sections: [String] = []
    private var variables = ConfigVariables()
    private var block = 0
    private var depth = 0
    /// Counts sourced files, so that files which source each other come to an end.
    private var budget = 64

    init(home: UserFiles?) {
      self.home = home
      for (name, value) in home?.variables ?? [:] { variables.set("$\(name)", value) }
    }

    mutating func read(_ file: (text: String, path: String)) throws(UserFiles.Fault) {
      for (index, raw) in file.text.lines(keepsEmpty: true).enumerated() {
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
          let value = variables.expand(line[line.index(after: equals)...].trimmed)
          try set(line[..<equals].trimmed, value, Place(file.path, line: index + 1))
        }
      }
    }

    private mutating func set(_ name: String, _ value: String, _ place: Place) throws(UserFiles.Fault) {
      if name.hasPrefix("$") { return variables.set(name, value) }
      if name == "source" { return try follow(value, place) }
      var keys = name.split(separator: ":").map(String.init)
      let key = keys.popLast() ?? ""
      settings.append(
        Setting(
          section: (sections + keys).joined(separator: ":"), block: block, key: key, value: value, place: place))
    }

    /// A path with wildcards; a relative one is beside the file that names it.
    private mutating func follow(_ value: String, _ place: Place) throws(UserFiles.Fault) {
      let written = home?.resolved(value) ?? value
      let path = written.hasPrefix("/") ? written : "\(Path.folder(of: place.file))/\(written)"
      guard let home, !path.contains("$"), case let paths = PathPattern.paths(path, home.system), paths.count <= budget
      else {
        unfollowed = unfollowed ?? place
        return
      }
      for path in paths where budget > 0 {
        budget -= 1
        if let file = try home.named(path) { try read(file) }
      }
    }
  }

  /// The settings of each block of a section.
  func blocks(_ section: String) -> [[Setting]] {
    let own = Dictionary(grouping: settings.filter { $0.section == section }, by: \.block)
    return own.sorted { $0.key < $1.key }.map(\.value)
  }
}
