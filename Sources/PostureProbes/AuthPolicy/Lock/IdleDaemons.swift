import Posture

/// What a window manager's session starts, as far as it watches for idleness.
struct IdleDaemons {
  let home: UserFiles
  let desktop: Desktop
  let context: AuthContext

  /// The commands of the session's own lines and the user's services, the one that locks first; nil where none is such.
  func lock(_ lines: [(text: String, place: Place)]) throws(UserFiles.Fault) -> IdleLock? {
    let commands = lines.flatMap { line in
      SimpleCommands.of(line.text, variables: home.variables).map { UnitCommand(words: $0, place: line.place) }
    }
    let saver = XServerSaver(commands)
    var found: [IdleLock] = []
    for command in commands {
      if let lock = try lock(command, saver) { found.append(lock) }
    }
    if let service = UserServices(home).daemon { found.append(try daemon(service, saver)) }
    return found.first { $0.isLocked } ?? found.first { $0.isUnknown } ?? found.first
  }

  /// Programs that take a daemon's name and do not start it.
  private static let others: Set = ["pkill", "killall", "pgrep", "pidof", "notify-send", "echo", "which"]

  private func lock(_ command: UnitCommand, _ saver: XServerSaver) throws(UserFiles.Fault) -> IdleLock? {
    let name = Programs.base(command.program)
    if IdleCommands.daemons.contains(name) {
      return try daemon(
        UserServices.Daemon(name: name, arguments: command.arguments, place: command.place), saver)
    }
    if Self.others.contains(name) { return nil }
    if name == "systemctl" {
      for unit in UserServices.started(by: command.arguments) {
        if let service = UserServices(home).daemon(unit) { return try daemon(service, saver) }
      }
      return nil
    }
    guard command.arguments.contains(where: IdleCommands.namesDaemon) || isScript(command.program) else { return nil }
    return Self.unknown("idle.script", command.words.joined(separator: " "), command.place)
  }

  private static func unknown(_ reason: String, _ observed: String, _ place: Place) -> IdleLock {
    .unknown([Reason(reason, place)], Cause("notModelled", observed: observed, evidence: [place]))
  }

  /// A script of the user's that names an idle daemon.
  private func isScript(_ program: String) -> Bool {
    guard program.hasPrefix("/") || program.hasPrefix("~/"), let file = (try? home.named(program)) ?? nil else {
      return false
    }
    return file.text.hasPrefix("#!") && IdleCommands.namesDaemon(file.text)
  }

  private func daemon(_ daemon: UserServices.Daemon, _ saver: XServerSaver) throws(UserFiles.Fault) -> IdleLock {
    let place = daemon.place
    switch daemon.name {
    case "swayidle": return try swayidle(daemon.arguments, place)
    case "xss-lock":
      if let off = saver.off { return XServerSaver.open(off) }
      return XIdle.daemon(daemon.name, daemon.arguments, place)
    case "xautolock", "xidlehook": return XIdle.daemon(daemon.name, daemon.arguments, place)
    case "hypridle": return try HyprlandIdle.hypridle(home, daemon.arguments, place)
    case "xscreensaver" where desktop == .i3: return try XIdle(home, desktop, context).lock(.xscreensaver)
    case "light-locker" where desktop == .i3: return try XIdle(home, desktop, context).lock(.lightLocker)
    default: return Self.unknown("idle.daemon", daemon.name, place)
    }
  }

  private static let swayidleFiles = [
    ".config/swayidle/config", ".swayidle/config", "/etc/swayidle/config", "/etc/xdg/swayidle/config",
  ]

  /// The arguments and the file together.
  private func swayidle(_ arguments: [String], _ place: Place) throws(UserFiles.Fault) -> IdleLock {
    var settings = Swayidle(arguments: arguments)
    var place = place
    let named = settings.file
    if let file = try named == nil ? home.first(Self.swayidleFiles) : home.named(named ?? "") {
      if settings.timeouts.isEmpty { place = Place(file.path) }
      settings.add(Swayidle(file: file.text))
    }
    if let lock = settings.lock {
      return .locked(by: lock.locker, [Reason("swayidle.timeout", place)], note: "idle after \(lock.seconds) s")
    }
    if settings.mystery != nil { return Self.unknown("swayidle.command", "swayidle runs a script", place) }
    return .open(
      [Reason("swayidle.noLock", place)], Cause("idleNotLocked", observed: "swayidle locks nothing", evidence: [place]))
  }
}

/// The X server's own screen saver (xset(1), "s"), which tells xss-lock when to lock.
struct XServerSaver {
  /// The command that turned it off for good.
  private(set) var off: UnitCommand?

  init(_ commands: [UnitCommand]) {
    for command in commands where Programs.base(command.program) == "xset" {
      guard let letter = command.words.firstIndex(of: "s"), letter + 1 < command.words.count else { continue }
      switch command.words[letter + 1] {
      case "off", "0": off = command
      case "on", "default": off = nil
      case let seconds where Int(seconds) != nil: off = nil
      default: continue
      }
    }
  }

  static func open(_ command: UnitCommand) -> IdleLock {
    .open(
      [Reason("xset.saverOff", command.place)],
      Cause("idleNotLocked", observed: command.words.joined(separator: " "), evidence: [command.place]))
  }
}

/// Services of a user's own systemd: `swayidle.service`, `hypridle.service`.
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

  /// The one that is linked to a target.
  var daemon: Daemon? {
    ["swayidle.service", "hypridle.service"].lazy.filter(isLinked).compactMap { daemon($0) }.first
  }

  /// The units that systemctl(1) is told to start.
  static func started(by arguments: [String]) -> [String] {
    let words = arguments.filter { !$0.hasPrefix("-") }
    let starts: Set = ["start", "restart", "reload-or-restart", "try-restart"]
    guard let verb = words.first, starts.contains(verb) || (verb == "enable" && arguments.contains("--now")) else {
      return []
    }
    return words.dropFirst().map { UnitName($0) == nil ? "\($0).service" : $0 }
  }

  /// The idle daemon that a unit of this name runs; without its file the one that it is named after.
  func daemon(_ unit: String) -> Daemon? {
    guard let name = UnitName(unit) else { return nil }
    let isNamed = IdleCommands.daemons.contains(name.prefix)
    let folder = home.path(".config/systemd/user")
    let paths = [".config/systemd/user/\(unit)", "/etc/systemd/user/\(unit)", "/usr/lib/systemd/user/\(unit)"]
    guard let file = (try? home.first(paths)) ?? nil else {
      return isNamed ? Daemon(name: name.prefix, arguments: [], place: Place(folder)) : nil
    }
    let merged = Unit(
      name: name, fragment: file.path, isMasked: false, settings: UnitFile.parse(file.text, path: file.path))
    guard let command = merged.commands().last else { return nil }
    let words = command.words.map { $0.substituting("%h", with: home.account.home) }
    let own = SimpleCommands.of(words).first { IdleCommands.daemons.contains(Programs.base($0[0])) }
    if let own { return Daemon(name: Programs.base(own[0]), arguments: Array(own.dropFirst()), place: command.place) }
    return isNamed ? Daemon(name: unit, arguments: [], place: command.place) : nil
  }

  func isLinked(_ unit: String) -> Bool {
    Self.targets.contains { target in
      [home.path(".config/systemd/user"), "/etc/systemd/user", "/usr/lib/systemd/user"].contains { folder in
        let path = "\(folder)/\(target).wants/\(unit)"
        return home.system.link(path) != nil || home.system.exists(path)
      }
    }
  }
}
