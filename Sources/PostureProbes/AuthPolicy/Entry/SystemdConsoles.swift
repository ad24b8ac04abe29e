import Posture

/// The terminals that systemd serves: getty units, the debug shell, services of the administrator's own.
struct SystemdConsoles {
  private let system: System
  private let units: Units
  private let booted: BootedUnits
  private let kernel: BootWords

  init(_ context: AuthContext, _ kernel: BootWords) {
    system = context.system
    units = context.startup.units
    booted = context.startup.booted
    self.kernel = kernel
  }

  var lines: [ConsoleLine] { templates + instances + [console, debugShell].compactMap { $0 } + ownServices }

  // MARK: Gettys

  private static let templates = [
    ("getty@.service", "tty*"), ("autovt@.service", "tty*"), ("serial-getty@.service", "ttyS*"),
  ]

  private var templates: [ConsoleLine] {
    Self.templates.compactMap { name, terminal in
      // An alias is the template it names.
      guard units.canonical(name) == name, name == "serial-getty@.service" ? hasGenerator : hasTerminals(name)
      else { return nil }
      return line(name, terminal)
    }
  }

  /// systemd-getty-generator(8) starts a getty on every serial console of the kernel.
  private var hasGenerator: Bool {
    booted.hasNoLinks || !["0", "no", "off", "false"].contains(kernel.value("systemd.getty_auto") ?? "yes")
      || units.instances(of: "serial-getty").contains(where: booted.reaches)
  }

  private func hasTerminals(_ template: String) -> Bool {
    automaticTerminals > 0 || booted.hasNoLinks
      || units.instances(of: "getty").contains {
        booted.reaches($0) && units.unit($0)?.fragment?.contains("@.") == true
      }
  }

  /// How many virtual terminals logind serves when somebody switches to them (logind.conf(5)).
  private var automaticTerminals: Int {
    var number = 6
    for setting in SystemdConfiguration.settings("logind.conf", system) where setting.key == "NAutoVTs" {
      number = Int(setting.value) ?? number
    }
    return number
  }

  private var instances: [ConsoleLine] {
    ["getty", "autovt", "serial-getty", "container-getty"].flatMap { prefix in
      units.instances(of: prefix).compactMap { name -> ConsoleLine? in
        guard let instance = UnitName(name)?.instance, units.canonical(name) == name else { return nil }
        let terminal = prefix == "container-getty" ? "pts/\(UnitName.unescape(instance))" : UnitName.unescape(instance)
        var line = line(name, terminal)
        if line?.isStarted == true { line?.isStarted = isStarted(name, prefix, terminal) }
        return line
      }
    }
  }

  private func isStarted(_ name: String, _ prefix: String, _ terminal: String) -> Bool {
    if booted.hasNoLinks || booted.reaches(name) { return true }
    if prefix == "serial-getty" { return hasGenerator }
    guard prefix != "container-getty", let number = Int(terminal.drop { !$0.isNumber }) else { return false }
    return terminal.hasPrefix("tty") && number <= automaticTerminals
  }

  private var console: ConsoleLine? {
    booted.starts("console-getty.service") ? line("console-getty.service", "console") : nil
  }

  /// The line that a unit's main command is; nil where the unit is masked or has none.
  private func line(_ name: String, _ terminal: String) -> ConsoleLine? {
    guard let unit = units.unit(name), !unit.isMasked else { return nil }
    let credentials = UnitCredentials(unit, system, kernel)
    let commands = unit.commands(environment: unit.environment { system.text($0) })
    guard let command = commands.last else {
      guard let file = unit.fragment, isUnreadable(file) else { return nil }
      return ConsoleLine(terminal: terminal, reading: .unknown(file), observed: file, place: Place(file))
    }
    var line = ConsoleLine(
      terminal: terminal, reading: TerminalReader(system: system, credentials: credentials).read(command.words),
      observed: ([Programs.base(command.program)] + command.arguments).joined(separator: " "), place: command.place,
      credential: credentials.place)
    line.isStarted = !isRefused(unit, commands)
    return line
  }

  /// systemd does not load a unit with several commands, unless its type allows them: a drop-in that did not clear the
  /// command before its own leaves the terminal dead.
  private func isRefused(_ unit: Unit, _ commands: [UnitCommand]) -> Bool {
    commands.count > 1 && unit.last("Type")?.value != "oneshot"
  }

  private func isUnreadable(_ path: String) -> Bool {
    do throws(System.Unreadable) {
      _ = try system.read(path)
      return false
    } catch { return error != .missing }
  }

  // MARK: Shells

  private var debugShell: ConsoleLine? {
    let word = kernel.value("systemd.debug_shell")
    let byKernel = word.map { !["0", "no", "off", "false"].contains($0) } ?? false
    guard byKernel || booted.reaches("debug-shell.service"), !units.isMasked("debug-shell.service") else { return nil }
    let unit = units.unit("debug-shell.service")
    let terminal = unit?.last("TTYPath").map { Programs.base($0.value) } ?? "tty9"
    let named = word.flatMap { $0.hasPrefix("tty") ? $0 : nil }
    return ConsoleLine(
      terminal: named ?? terminal, reading: .rootShell, observed: "debug-shell.service",
      place: (byKernel ? kernel.place : nil) ?? Place(unit?.fragment ?? "/etc/systemd/system/debug-shell.service"))
  }

  /// Services outside the vendor directories that are given a terminal.
  private var ownServices: [ConsoleLine] {
    units.ownServices.compactMap { name in
      guard !Self.gettys.contains(where: name.hasPrefix), booted.starts(name), let unit = units.unit(name),
        let terminal = unit.last("TTYPath").map({ Programs.base($0.value) })
          ?? (unit.last("StandardInput").map { $0.value.hasPrefix("tty") } == true ? "console" : nil),
        let line = line(name, terminal)
      else { return nil }
      // A program that is no login is an application; what it lets people do is not a door of this kind.
      if case .unknown = line.reading { return nil }
      return line.reading == .nothing ? nil : line
    }
  }

  private static let gettys = [
    "getty@", "serial-getty@", "container-getty@", "console-getty.", "autovt@", "debug-shell.", "rescue.", "emergency.",
    "display-manager.",
  ]
}
