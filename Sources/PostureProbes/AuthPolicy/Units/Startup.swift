/// How the examined system starts, and which services it starts by itself.
struct Startup: Sendable {
  /// The program that runs first.
  enum Kind: Sendable {
    case systemd
    /// sysvinit with inittab(5).
    case sysvinit
    /// BusyBox init.
    case busybox
    /// OpenWrt: procd, with an inittab of its own.
    case procd
    case runit
    case openrc
    case other
    /// A container image without any.
    case none
  }

  let kind: Kind
  let units: Units
  let booted: BootedUnits
  private let scripts: InitScripts

  init(_ system: System) {
    let goal = BootGoal(system.shared { BootWords(system) })
    units = Units(system, masked: goal.masked)
    booted = BootedUnits(units, goal)
    scripts = InitScripts(system)
    kind = Self.kind(of: system, units)
  }

  private static func kind(of system: System, _ units: Units) -> Kind {
    if let known = InitProgram.find(system) { return known }
    // Packages bring units into images that have no systemd; these come with systemd itself, or with a desktop.
    if telling.contains(where: { units.path(of: $0) != nil }) { return .systemd }
    if let inittab = system.text("/etc/inittab") {
      // Actions that only BusyBox and procd know.
      return inittab.contains(":askfirst:") || inittab.contains(":askconsole:") ? .busybox : .sysvinit
    }
    if system.exists("/etc/inittab") { return .sysvinit }
    return InitProgram.exists(system) || (units.isEmpty && isMachine(system)) ? .other : .none
  }

  /// A boot menu is no part of a container; Guix System has its init in the store.
  private static func isMachine(_ system: System) -> Bool {
    [
      "/gnu/store", "/var/guix", "/boot/grub/grub.cfg", "/boot/grub2/grub.cfg", "/boot/loader/entries",
      "/boot/extlinux/extlinux.conf",
    ].contains(where: system.exists)
  }

  private static let telling = [
    "getty@.service", "serial-getty@.service", "console-getty.service", "default.target", "multi-user.target",
    "graphical.target", "rescue.service", "emergency.service", "display-manager.service",
  ]

  /// Whether a service is started at boot (EVIDENCE, *started*). `names` are what it is called on various systems, without
  /// suffix: `["ssh", "sshd"]`. A masked unit is not started; a system where nothing at all is enabled starts everything.
  func starts(_ names: [String]) -> Bool {
    usesUnits ? startsUnit(names) : scripts.starts(names)
  }

  /// Whether units are what starts; else scripts are.
  var usesUnits: Bool { kind == .systemd || (kind == .none && !units.isEmpty) }

  /// Names of the start scripts that are linked, where scripts are what starts.
  var startedScripts: Set<String> { usesUnits ? [] : scripts.started }

  /// Nothing at all is enabled, so that everything counts as started.
  var isSilent: Bool { usesUnits ? booted.hasNoLinks : scripts.areEmpty }

  private func startsUnit(_ names: [String]) -> Bool {
    let known = names.filter { hasUnit("\($0).service") || hasUnit("\($0).socket") }
    // A script is used only where no unit of its name hides it (systemd-sysv-generator(8)).
    if known.isEmpty { return booted.hasNoLinks && scripts.areEmpty || scripts.links(names) }
    return known.contains { startsService($0) || startsSocket($0) }
  }

  private func hasUnit(_ name: String) -> Bool { units.unit(name) != nil || units.unit(units.canonical(name)) != nil }

  private func startsService(_ name: String) -> Bool {
    hasUnit("\(name).service") && booted.starts("\(name).service")
  }

  /// A socket that boots brings its service on the first connection, unless that is masked.
  private func startsSocket(_ name: String) -> Bool {
    guard hasUnit("\(name).socket"), booted.starts("\(name).socket"),
      let service = units.unit("\(name).socket")?.triggered
    else { return false }
    return units.canStart(service)
  }
}

/// Start scripts and their links: sysvinit, OpenRC, OpenWrt, runit, Buildroot.
struct InitScripts: Sendable {
  /// Names of what is started: `ssh`, without the order number.
  let started: Set<String>
  let areEmpty: Bool

  init(_ system: System) {
    var names = Set<String>()
    for level in ["2", "3", "4", "5", "S"] {
      names.formUnion(Self.ordered(system, "/etc/rc\(level).d"))
      names.formUnion(Self.ordered(system, "/etc/rc.d/rc\(level).d"))
    }
    names.formUnion(Self.ordered(system, "/etc/rc.d"))
    // Buildroot's rcS runs the scripts themselves by their numbers.
    names.formUnion(Self.ordered(system, "/etc/init.d"))
    names.formUnion(Self.executable(system))
    for level in (try? system.list("/etc/runlevels")) ?? [] {
      names.formUnion((try? system.list("/etc/runlevels/\(level)")) ?? [])
    }
    for folder in ["/etc/service", "/var/service", "/etc/runit/runsvdir/default", "/etc/runit/runsvdir/current"] {
      names.formUnion((try? system.list(folder)) ?? [])
    }
    started = names
    areEmpty = names.isEmpty
  }

  /// Names of links like `S19dropbear`.
  private static func ordered(_ system: System, _ folder: String) -> [String] {
    ((try? system.list(folder)) ?? []).compactMap(service)
  }

  /// `sshd` of Slackware's /etc/rc.d/rc.sshd, which is started where it may be executed. Those of the run levels are
  /// started by init.
  private static func executable(_ system: System) -> [String] {
    let files = ((try? system.list("/etc/rc.d")) ?? []).filter { $0.hasPrefix("rc.") }
    let levels = ["rc.M", "rc.4"].filter(files.contains)
    guard !levels.isEmpty else { return [] }
    let services = files.filter { ((try? system.status("/etc/rc.d/\($0)"))?.mode ?? 0) & 0o111 != 0 }
    return (levels + services).map { String($0.dropFirst(3)) }
  }

  /// `dropbear` of `S19dropbear`; nil for a name without a number.
  static func service(_ name: String) -> String? {
    guard name.hasPrefix("S"), name.dropFirst().prefix(2).allSatisfy(\.isNumber), name.count > 3 else { return nil }
    return String(name.dropFirst(3))
  }

  func links(_ names: [String]) -> Bool { names.contains(where: started.contains) }
  func starts(_ names: [String]) -> Bool { areEmpty || links(names) }
}

/// What /sbin/init is.
enum InitProgram {
  private static let candidates = ["/sbin/init", "/usr/sbin/init", "/init", "/etc/init", "/linuxrc"]
  /// What the first process of a machine is called; in a container it is something else.
  private static let first: Set<String> = [
    "systemd", "init", "procd", "runit", "runit-init", "s6-svscan", "openrc-init", "dinit", "linuxrc", "busybox",
    "shepherd",
  ]

  static func exists(_ system: System) -> Bool { candidates.contains(where: system.exists) }

  /// Where it is.
  static func path(_ system: System) -> String? { candidates.first(where: system.hasEntry) }

  static func find(_ system: System) -> Startup.Kind? {
    if let comm = system.text("/proc/1/comm")?.trimmed, !first.contains(comm) { return Startup.Kind.none }
    if system.exists("/sbin/procd") { return .procd }
    if let path = path(system) { return kind(system, path) }
    let systemd = ["/usr/lib/systemd/systemd", "/lib/systemd/systemd"]
    return systemd.contains(where: system.exists) ? .systemd : nil
  }

  private static func kind(_ system: System, _ path: String) -> Startup.Kind? {
    switch Programs.target(of: path, system).split(separator: "/").last.map(String.init) ?? "" {
    case "systemd": .systemd
    case "busybox", "busybox.nosuid", "busybox.suid", "busybox-static": .busybox
    case "procd": .procd
    case "runit-init", "runit": .runit
    case "openrc-init": .openrc
    case "init.sysvinit", "sysvinit": .sysvinit
    default: nil
    }
  }
}
