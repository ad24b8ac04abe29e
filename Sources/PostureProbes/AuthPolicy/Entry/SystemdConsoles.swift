import Posture

/// The terminals that systemd serves: getty units, the debug shell, services of the administrator's own.
struct SystemdConsoles {
  private let system: System
  private let units: Units
  private let booted: BootedUnits
  private let kernel: BootWords
  private let accounts: Accounts
  private let rescue: ConsoleLine?
  private let generated: FlatcarAutologin
  /// Units that others drive out.
  private let conflicting: Set<String>

  init(_ context: AuthContext, _ kernel: BootWords) {
    system = context.system
    accounts = context.accounts
    units = context.startup.units
    booted = context.startup.booted
    self.kernel = kernel
    rescue = Self.rescue(context)
    generated = FlatcarAutologin(context, kernel)
    conflicting = Self.conflicting(units, booted)
  }

  var lines: [ConsoleLine] {
    let lines = templates + instances + [console, debugShell, rescue].compactMap { $0 } + services
    // What else starts gettys takes some reading: it is asked where a terminal is set up that no boot starts.
    return lines.contains { !$0.isStarted && !$0.isStock } ? woken(lines) : lines
  }

  // MARK: Gettys

  private static let getty = "getty@.service"
  private static let autovt = "autovt@.service"
  private static let serial = "serial-getty@.service"

  private var templates: [ConsoleLine] {
    var lines = Set([Self.getty, automatic]).sorted().filter(isServed).compactMap { line($0, "tty*") }
    if hasGenerator, var line = line(Self.serial, "ttyS*") {
      line.isStarted = line.isStarted && (hasSerialConsole || startsInstance(of: Self.serial))
      lines.append(line)
    }
    return lines
  }

  /// The template that logind starts on terminals that somebody switches to: what the alias autovt@ leads to.
  private var automatic: String {
    units.unit(Self.autovt) == nil ? Self.getty : units.canonical(Self.autovt)
  }

  private func isAutomatic(_ template: String?) -> Bool {
    template == automatic || (template == Self.getty && units.path(of: Self.autovt) == nil)
  }

  private func isServed(_ template: String) -> Bool {
    booted.hasNoLinks || startsInstance(of: template)
      || (isAutomatic(template) && (automaticTerminals > 0 || reservedTerminal > 0))
  }

  private func startsInstance(of template: String) -> Bool {
    units.instances(of: UnitName(template)?.prefix ?? "").contains {
      booted.reaches($0) && units.unit($0)?.fragment?.contains("@.") == true
    }
  }

  /// systemd-getty-generator(8) starts a getty on every serial console of the kernel.
  private var hasGenerator: Bool {
    booted.hasNoLinks || SystemdBoolean.parse(kernel.value("systemd.getty_auto") ?? "yes") != false
      || units.instances(of: "serial-getty").contains(where: booted.reaches)
  }

  private var consoles: [Substring] { kernel.values("console").map { $0.prefix { $0 != "," } } }

  /// A command line that names consoles names all that there are, some by names that firmware or driver resolve.
  private func isConsole(_ terminal: String) -> Bool {
    consoles.isEmpty
      || consoles.contains { console in
        console == terminal || (console == "serial0" && ["ttyS0", "ttyAMA0", "ttyAMA10"].contains(terminal))
          || (console.hasPrefix("uart") && terminal.hasPrefix("ttyS"))
      }
  }

  private var hasSerialConsole: Bool {
    booted.hasNoLinks || consoles.isEmpty || consoles.contains { !Self.isVirtual($0) && $0 != "null" }
  }

  private static func isVirtual(_ terminal: some StringProtocol) -> Bool {
    terminal.isEmpty || (terminal.hasPrefix("tty") && terminal.dropFirst(3).allSatisfy(\.isNumber))
  }

  /// How many virtual terminals logind serves when somebody switches to them (logind.conf(5)).
  private var automaticTerminals: Int { logind("NAutoVTs") }
  /// The one that it serves whatever that number is; 0 for none.
  private var reservedTerminal: Int { logind("ReserveVT") }

  /// Both numbers are 6 where nothing else is said.
  private func logind(_ key: String) -> Int {
    let values = SystemdConfiguration.settings("logind.conf", system).filter { $0.key == key }.map(\.value)
    return values.compactMap { Int($0) }.last ?? 6
  }

  private var prefixes: Set<String> {
    ["getty", "autovt", "kmsconvt", "serial-getty", "container-getty", UnitName(automatic)?.prefix ?? ""]
  }

  private var instances: [ConsoleLine] {
    prefixes.sorted().flatMap { prefix in
      let more = generated.units.filter { UnitName($0)?.prefix == prefix }
      return more.union(units.instances(of: prefix) + credited(prefix)).sorted().compactMap { name -> ConsoleLine? in
        guard units.canonical(name) == name, let terminal = terminal(of: name) else { return nil }
        var line = line(name, terminal)
        if line?.isStarted == true { line?.isStarted = isStarted(name, prefix, terminal) }
        if conflicting.contains(name) { line?.isStarted = false }
        return line
      }
    }
  }

  /// Instances that credentials of their own make different from the others.
  private func credited(_ prefix: String) -> [String] {
    let kinds = ["getty": "virtual", "serial-getty": "serial"]
    guard let kind = kinds[prefix], units.unit("\(prefix)@.service") != nil else { return [] }
    return UnitCredentials.terminals(kind, system, kernel).map { "\(prefix)@\($0).service" }
  }

  /// What services that boot name in `Conflicts=`: where both are to be started, systemd leaves out the one that is
  /// named (transaction.c). So a display manager takes the place of its terminal's getty.
  private static func conflicting(_ units: Units, _ booted: BootedUnits) -> Set<String> {
    let started = booted.services.filter(booted.starts).compactMap(units.unit)
    return Set(started.flatMap { $0.names(["Conflicts"]) }.map(units.canonical))
  }

  /// The one that an instance of a getty's template serves.
  private func terminal(of name: String) -> String? {
    guard let name = UnitName(name), let instance = name.instance, !instance.isEmpty else { return nil }
    return (name.prefix == "container-getty" ? "pts/" : "") + UnitName.unescape(instance)
  }

  /// With the gettys that devices, credentials and programs start.
  private func woken(_ lines: [ConsoleLine]) -> [ConsoleLine] {
    var lines = lines
    for name in WokenUnits(system: system, units: units, booted: booted, kernel: kernel).names.sorted() {
      guard prefixes.contains(UnitName(name)?.prefix ?? ""), let terminal = terminal(of: name),
        let line = line(name, terminal)
      else { continue }
      lines.removeAll { $0.terminal == terminal }
      lines.append(line)
    }
    return lines
  }

  private func isStarted(_ name: String, _ prefix: String, _ terminal: String) -> Bool {
    if booted.hasNoLinks || booted.reaches(name) { return true }
    if prefix == "serial-getty" { return hasGenerator && (isConsole(terminal) || Self.isVirtualizers(terminal)) }
    guard isAutomatic(UnitName(name)?.template), let number = Int(terminal.drop { !$0.isNumber }) else { return false }
    return terminal.hasPrefix("tty") && (number <= automaticTerminals || number == reservedTerminal)
  }

  /// The consoles of virtual machines, which the generator looks for by name.
  private static func isVirtualizers(_ terminal: String) -> Bool {
    ["hvc0", "xvc0", "hvsi0", "sclp_line0", "ttysclp0", "3270/tty1", "3270!tty1"].contains(terminal)
  }

  /// In a container the generator starts it.
  private var console: ConsoleLine? {
    booted.starts("console-getty.service") || system.exists("/run/systemd/container")
      ? line("console-getty.service", "console") : nil
  }

  /// The line that a unit's main command is; nil where the unit is masked or has none.
  private func line(_ name: String, _ terminal: String) -> ConsoleLine? {
    guard let unit = units.unit(name), !unit.isMasked else { return nil }
    let credentials = UnitCredentials(unit, system, kernel)
    if let other = units.otherTemplate(of: name) {
      let place = Place(units.path(of: other) ?? other)
      return ConsoleLine(
        terminal: terminal, reading: .undecided(other), observed: "\(name), a link to \(other)", place: place)
    }
    let commands = unit.commands(
      environment: unit.environment { system.text($0) }, unset: unit.hasLateEnvironment(system) ? UnknownText.mark : "")
    guard let command = generated.command(of: unit.name) ?? commands.last else {
      guard let file = unit.fragment, isUnreadable(file) else { return nil }
      return ConsoleLine(terminal: terminal, reading: .unknown(file), observed: file, place: Place(file))
    }
    let reading = TerminalReader(system: system, credentials: credentials).read(command.words)
    var line = ConsoleLine(
      terminal: terminal, reading: user(of: unit).map(reading.run) ?? reading,
      observed: UnknownText.shown(([Programs.base(command.program)] + command.arguments).joined(separator: " ")),
      place: command.place,
      credential: credentials.place, service: unit.last("PAMName")?.value)
    line.isStarted = !isRefused(unit, commands) && units.canStart(name)
    return line
  }

  /// `User=`, by name where a number is given; nil for root.
  private func user(of unit: Unit) -> String? {
    guard let user = unit.last("User").map({ unit.expand($0.value) }), !user.isEmpty else { return nil }
    let account = accounts.named(user)
    return account?.isRoot == true ? nil : account?.name ?? user
  }

  /// systemd does not load a unit with several commands, unless its type allows them: a drop-in that did not clear the
  /// command before its own leaves the terminal dead. That type does not go with a restart after success.
  private func isRefused(_ unit: Unit, _ commands: [UnitCommand]) -> Bool {
    guard unit.last("Type")?.value == "oneshot" else { return commands.count > 1 }
    return ["always", "on-success"].contains(unit.last("Restart")?.value)
  }

  private func isUnreadable(_ path: String) -> Bool {
    do throws(System.Unreadable) {
      _ = try system.read(path)
      return false
    } catch { return error != .missing }
  }

  // MARK: Shells

  /// Where every boot ends in rescue or emergency mode, its shell is at the console.
  private static func rescue(_ context: AuthContext) -> ConsoleLine? {
    let target = context.startup.booted.defaultTarget
    guard target == "rescue.target" || target == "emergency.target" else { return nil }
    return RescueDoor(context).way(target.substituting(".target", with: ".service")).map { way in
      ConsoleLine(terminal: "console", reading: way.reading, observed: way.observed, place: way.place)
    }
  }

  private var debugShell: ConsoleLine? {
    let word = kernel.value("systemd.debug_shell")
    let byKernel = word.map { SystemdBoolean.parse($0) != false } ?? false
    guard byKernel || booted.reaches("debug-shell.service"), units.canStart("debug-shell.service") else { return nil }
    let unit = units.unit("debug-shell.service")
    let terminal = unit?.last("TTYPath").map { Programs.base($0.value) } ?? "tty9"
    let other = word.flatMap { $0.isEmpty || SystemdBoolean.parse($0) != nil ? nil : $0 }
    let named = (other ?? kernel.value("systemd.default_debug_tty")).map(Programs.base)
    return ConsoleLine(
      terminal: named ?? terminal, reading: .rootShell, observed: "debug-shell.service",
      place: (byKernel ? kernel.place : nil) ?? Place(unit?.fragment ?? "/etc/systemd/system/debug-shell.service"))
  }

  /// Other services that are given a terminal, or start a session of somebody's.
  private var services: [ConsoleLine] {
    // A display manager's script is its own affair.
    let scripts = Set(units.ownServices).subtracting([units.canonical("display-manager.service")])
    return Set(booted.services).union(booted.hasNoLinks ? units.ownServices : []).sorted().compactMap { name in
      guard !Self.gettys.contains(where: name.hasPrefix), booted.starts(name), let unit = units.unit(name)
      else { return nil }
      let given = given(to: unit)
      guard given != nil || mayServe(unit, orScript: scripts.contains(name)) else { return nil }
      let terminal = given ?? unit.commands().last.flatMap { TerminalReader(system: system).terminal($0.words) }
      guard let line = line(name, terminal ?? "console") else { return nil }
      switch line.reading {
      case .session: return line
      // A program that is no login is an application; what it lets people do is not a door of this kind.
      case .unknown, .nothing: return nil
      default: return terminal == nil ? nil : line
      }
    }
  }

  /// The terminal that the unit names; the console where only the input is one.
  private func given(to unit: Unit) -> String? {
    if let path = unit.last("TTYPath") { return Programs.base(unit.expand(path.value)) }
    return unit.last("StandardInput")?.value.hasPrefix("tty") == true ? "console" : nil
  }

  /// Whether a service may be a getty or somebody's session: by the name of its program, or as a script of the
  /// administrator's. Everything else is a daemon and is not looked into.
  private func mayServe(_ unit: Unit, orScript: Bool) -> Bool {
    guard let program = unit.commands().last?.program else { return false }
    return TerminalReader.knows(program) || (orScript && TerminalReader(system: system).text(of: program) != nil)
  }

  private static let gettys = [
    "getty@", "serial-getty@", "container-getty@", "console-getty.", "autovt@", "kmsconvt@", "debug-shell.", "rescue.",
    "emergency.",
    "display-manager.",
  ]
}
