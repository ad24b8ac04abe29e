import Posture

/// What is started, by whatever name: by the units that a boot reaches, by init (inittab(5)), by cron(8), by inetd(8), by the
/// scripts of a boot.
struct StartedCommands: Sendable {
  private let commands: ByProgram
  /// Those of scripts: whether a script comes to one is not known.
  private let possible: ByProgram
  /// Run for a connection, which is their input.
  let answering: [UnitCommand]
  /// What cron and the boot's own scripts run, as it is written.
  let scripted: [UnitCommand]

  /// Those of the examined system, read once in an examination.
  static func of(_ system: System, _ startup: Startup) -> StartedCommands {
    system.shared { StartedCommands(system, startup) }
  }

  private init(_ system: System, _ startup: Startup) {
    let entries = Self.inittab(system, startup)
    let early = Self.commands(of: entries.filter { Self.early.contains($0.action) }, system)
    let crontabs = Self.crontabs(system, startup)
    let written =
      Self.units(system, startup) + early
      + Self.commands(of: entries.filter { !Self.early.contains($0.action) }, system) + crontabs
    let scripts = BootScripts(system, startup).commands + BootScripts(system, calledBy: early).commands
    let commands = Self.simple(written)
    let possible = Self.byProgram(Self.simple(scripts + BootScripts(system, calledBy: commands).commands))
    // What units and lines of a terminal run is read with them.
    scripted = scripts + crontabs
    let answering = Self.sockets(system, startup)
    let servers = ["inetd", "openbsd-inetd", "inetutils-inetd"]
    let known = Self.byProgram(commands)
    let isServed = startup.starts(servers) || servers.contains { known[$0] != nil || possible[$0] != nil }
    let own = isServed ? Self.inetd(system) : []
    self.possible = possible
    self.commands = known.merging(Self.byProgram(own)) { $0 + $1 }
    self.answering = answering + own
  }

  private static func simple(_ commands: [UnitCommand]) -> [UnitCommand] {
    commands.flatMap { command in
      SimpleCommands.of(command.words).map { UnitCommand(words: $0, place: command.place) }
    }
  }

  /// By the name of the program, each in its order.
  private typealias ByProgram = [String: [UnitCommand]]

  private static func byProgram(_ commands: [UnitCommand]) -> ByProgram {
    Dictionary(grouping: commands) { Programs.base($0.program) }
  }

  /// The commands that run a program of one of these names.
  func running(_ programs: [String]) -> [UnitCommand] { programs.flatMap { commands[$0] ?? [] } }

  /// Those that stand in a script.
  func mayRun(_ programs: [String]) -> [UnitCommand] { programs.flatMap { possible[$0] ?? [] } }

  // MARK: systemd

  /// Where nothing is enabled, the administrator's own units count.
  private static func units(_ system: System, _ startup: Startup) -> [UnitCommand] {
    guard startup.usesUnits else { return [] }
    let (units, booted) = (startup.units, startup.booted)
    let names = booted.hasNoLinks ? units.ownServices : booted.services
    let brought = booted.sockets.filter(booted.starts).compactMap { units.unit($0)?.triggered }.filter(units.canStart)
    return Set(names.filter(booted.starts) + brought).sorted().flatMap { commands(of: $0, system, units) }
  }

  private static func commands(of name: String, _ system: System, _ units: Units) -> [UnitCommand] {
    guard let unit = units.unit(name) else { return [] }
    let keys = ["ExecStartPre", "ExecStart", "ExecStartPost"]
    // Most need no file of variables.
    let hasVariables = keys.contains { unit.values($0).contains { $0.value.contains("$") } }
    let environment = hasVariables ? unit.environment { system.text($0) } : [:]
    return keys.flatMap { unit.commands($0, environment: environment) }
  }

  /// Services that sockets of the network start for each connection.
  private static func sockets(_ system: System, _ startup: Startup) -> [UnitCommand] {
    guard startup.usesUnits else { return [] }
    let units = startup.units
    return startup.booted.sockets.filter(startup.booted.starts).flatMap { name -> [UnitCommand] in
      guard let socket = units.unit(name), isOnNetwork(socket), let service = socket.triggered, units.canStart(service),
        units.unit(service)?.last("StandardInput")?.value == "socket"
      else { return [] }
      return commands(of: service, system, units)
    }
  }

  private static func isOnNetwork(_ socket: Unit) -> Bool {
    socket.values("ListenStream", in: "Socket").contains { address in
      !["/", "@", "vsock:", "127.", "[::1]"].contains { address.value.hasPrefix($0) }
    }
  }

  // MARK: inittab

  /// Actions that no ordinary boot comes to.
  private static let rare: Set = [
    "initdefault", "off", "ondemand", "shutdown", "restart", "ctrlaltdel", "kbrequest", "powerfail", "powerwait",
    "powerokwait", "powerfailnow",
  ]

  /// Those of a boot's first scripts.
  private static let early: Set = ["sysinit", "boot", "bootwait"]

  /// Those that a boot to the level it names comes to.
  private static func inittab(_ system: System, _ startup: Startup) -> [InittabEntry] {
    guard !startup.usesUnits else { return [] }
    let entries = (try? InittabConsoles(system, isBusyBox: startup.kind != .sysvinit).entries) ?? []
    let level = entries.first { $0.action == "initdefault" }?.levels ?? ""
    return entries.filter { entry in
      !rare.contains(entry.action)
        && (level.isEmpty || entry.levels.isEmpty || level.contains { entry.levels.contains($0) })
    }
  }

  private static func commands(of entries: [InittabEntry], _ system: System) -> [UnitCommand] {
    entries.flatMap { entry in
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

  // MARK: cron

  private static let daemons = ["cron", "crond", "cronie", "dcron", "fcron", "busybox-cron"]

  /// `@reboot` lines of crontab(5).
  private static func crontabs(_ system: System, _ startup: Startup) -> [UnitCommand] {
    guard startup.starts(daemons) else { return [] }
    let tables = { (folder: String) in ((try? system.list(folder)) ?? []).map { "\(folder)/\($0)" } }
    let own = ["/var/spool/cron/crontabs", "/var/spool/cron"].flatMap(tables)
    return (["/etc/crontab"] + tables("/etc/cron.d")).flatMap { crontab($0, namesUser: true, system) }
      + own.flatMap { crontab($0, namesUser: false, system) }
  }

  private static func crontab(_ path: String, namesUser: Bool, _ system: System) -> [UnitCommand] {
    LogicalLines(system.text(path) ?? "", comments: ["#"]).compactMap { line in
      let words = line.text.words(most: namesUser ? 2 : 1).map(String.init)
      guard words.first == "@reboot", words.count == (namesUser ? 3 : 2), let command = words.last else { return nil }
      let user = namesUser ? words[1] : Programs.base(path)
      let shell = ["/bin/sh", "-c", command]
      return UnitCommand(
        words: user == "root" ? shell : ["runuser", "-u", user, "--"] + shell, place: Place(path, line: line.number))
    }
  }

  // MARK: inetd

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
