import Posture

/// What is started by other means than a unit or a script of its own name: by units that the administrator wrote, by init
/// (inittab(5)), by inetd(8).
struct StartedCommands: Sendable {
  private let commands: [UnitCommand]

  /// Those of the examined system, read once in an examination.
  static func of(_ system: System, _ startup: Startup) -> StartedCommands {
    system.shared { StartedCommands(system, startup) }
  }

  private init(_ system: System, _ startup: Startup) {
    var commands = Self.units(system, startup) + Self.inittab(system, startup)
    let servers = ["inetd", "openbsd-inetd", "inetutils-inetd"]
    if startup.starts(servers) || commands.contains(where: { servers.contains(Programs.base($0.program)) }) {
      commands += Self.inetd(system)
    }
    self.commands = commands
  }

  /// The commands that run a program of one of these names.
  func running(_ programs: [String]) -> [UnitCommand] {
    commands.filter { programs.contains(Programs.base($0.program)) }
  }

  private static func units(_ system: System, _ startup: Startup) -> [UnitCommand] {
    guard startup.usesUnits else { return [] }
    return startup.units.ownServices.filter(startup.booted.starts).flatMap { name -> [UnitCommand] in
      guard let unit = startup.units.unit(name) else { return [] }
      return unit.commands(environment: unit.environment { system.text($0) }).flatMap { command in
        SimpleCommands.of(command.words).map { UnitCommand(words: $0, place: command.place) }
      }
    }
  }

  /// Actions that no ordinary boot comes to.
  private static let rare: Set = [
    "initdefault", "off", "ondemand", "shutdown", "restart", "ctrlaltdel", "kbrequest", "powerfail", "powerwait",
    "powerokwait", "powerfailnow",
  ]

  private static func inittab(_ system: System, _ startup: Startup) -> [UnitCommand] {
    guard !startup.usesUnits else { return [] }
    let entries = (try? InittabConsoles(system, isBusyBox: startup.kind != .sysvinit).entries) ?? []
    let level = entries.first { $0.action == "initdefault" }?.levels ?? ""
    return entries.filter { entry in
      !rare.contains(entry.action)
        && (level.isEmpty || entry.levels.isEmpty || level.contains { entry.levels.contains($0) })
    }.flatMap { entry in
      SimpleCommands.of(entry.process).flatMap { [$0] + managers($0, system) }
        .map { UnitCommand(words: $0, place: entry.place) }
    }
  }

  /// Slackware's script for the graphical level tries one display manager after the other.
  private static func managers(_ words: [String], _ system: System) -> [[String]] {
    let path = "/etc/rc.d/rc.4"
    guard words.first == path else { return [] }
    let tried = ShellScript(system.text(path) ?? "", []).commands.filter(\.isExec).map(\.words)
    return Array(tried.filter { system.exists($0[0]) }.prefix(1))
  }

  /// `service type protocol wait user program name argument …`; tcpd(8) takes the program as its name.
  private static func inetd(_ system: System) -> [UnitCommand] {
    let path = "/etc/inetd.conf"
    return LogicalLines(system.text(path) ?? "").compactMap { line in
      let fields = line.text.split { $0 == " " || $0 == "\t" }.map(String.init)
      guard fields.count > 6 else { return nil }
      let program = Programs.base(fields[5]) == "tcpd" ? fields[6] : fields[5]
      return UnitCommand(words: [program] + fields.dropFirst(7), place: Place(path, line: line.number))
    }
  }
}
