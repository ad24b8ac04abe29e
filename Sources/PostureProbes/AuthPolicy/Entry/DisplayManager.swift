import Posture

/// An automatic login of a display manager.
struct AutomaticLogin: Hashable, Sendable {
  var user: String
  var place: Place
  /// PAM service that is asked; nil: authentication is skipped in the manager's ordinary service.
  var service: String?
  /// The one in which it is skipped, where that is another.
  var unasked: String?
  /// What starts the session where no manager does.
  var starter: Starter?
  /// Happens once after each start of the machine; else again after each logout.
  var oncePerBoot: Bool
  /// Shown with the row.
  var note: String
  var observed: String
  var code = "autologin"

  enum Starter: Hashable, Sendable {
    /// A program of this path, by its own rules.
    case program(String)
    /// A unit, behind the account phase of the service that it names.
    case unit(service: String?)
  }
}

/// What is known of one display manager on this system.
struct DisplayManagerSetup: Sendable {
  /// PAM services that people may choose between.
  var services: [String] = []
  var automatic: [AutomaticLogin] = []
  /// A guest session: where it is turned on.
  var guest: Place?
  /// Services by which it shows its greeter to the network (`xdmcp`, `vnc`), and where each is turned on.
  var overNetwork: [(service: String, place: Place)] = []
  /// Its configuration cannot be read: nothing can be said.
  var fault: Cause?
}

/// The display managers that exist, and how each is recognised.
enum DisplayManager: String, CaseIterable, Sendable {
  case gdm, lightdm, sddm, greetd, lxdm, nodm, slim, tinydm
  case xserverNodm = "xserver-nodm"
  // Found, and not modelled.
  case xdm, ly, lemurs, emptty, wdm, kdm, cosmicGreeter = "cosmic-greeter", plasmalogin, entranced, tbsm

  /// Names of its unit, script and program.
  var names: [String] {
    switch self {
    case .gdm: ["gdm", "gdm3"]
    case .ly: ["ly", "ly-dm"]
    case .kdm: ["kdm", "kdm4"]
    case .tinydm: ["tinydm", "tinydm-run-session"]
    default: [rawValue]
    }
  }

  /// The manager that a unit or a program of this name is.
  static func named(_ name: String) -> DisplayManager? { allCases.first { $0.names.contains(name) } }

  func setup(_ context: AuthContext) -> DisplayManagerSetup {
    switch self {
    case .gdm: GDM(context).setup
    case .lightdm: LightDM(context).setup
    case .sddm: SDDM(context).setup
    case .greetd: Greetd(context).setup
    case .lxdm: LXDM(context).setup
    case .nodm: Nodm(context.system).setup
    case .slim: Slim(context.system).setup
    case .tinydm: TinyDM(context).setup
    case .xserverNodm: XServerNodm(context).setup
    default: DisplayManagerSetup(fault: Cause("notModelled", observed: "display manager \(rawValue)"))
    }
  }
}

/// Which display managers this system has, and starts.
struct DisplayManagerSearch {
  private let context: AuthContext
  private let system: System

  init(_ context: AuthContext) {
    self.context = context
    system = context.system
  }

  struct Found {
    var manager: DisplayManager
    var isStarted: Bool
    /// What says that it is here.
    var place: Place
  }

  var found: [Found] {
    var result: [Found] = []
    for var found in [alias, chosen].compactMap({ $0 }) + others
    where !result.contains(where: { $0.manager == found.manager }) {
      if found.manager == .nodm, Nodm(system).isSwitchedOff { found.isStarted = false }
      result.append(found)
    }
    return result
  }

  // MARK: systemd

  private static let alias = "display-manager.service"

  /// display-manager.service.
  private var alias: Found? {
    let units = context.startup.units
    guard context.startup.kind == .systemd, let path = units.path(of: Self.alias), !units.isMasked(Self.alias),
      let manager = aliased
    else { return nil }
    return Found(
      manager: manager, isStarted: isStarted && units.canStart(Self.alias) && !isOverruled(manager), place: Place(path))
  }

  private var isStarted: Bool {
    let booted = context.startup.booted
    return booted.isGraphical && booted.starts("graphical.target")
  }

  private var aliased: DisplayManager? {
    let units = context.startup.units
    let name = units.canonical(Self.alias)
    if let known = DisplayManager.named(String(name.dropLast(".service".count))) { return known }
    // NixOS and SUSE write a unit of this very name; what it runs tells.
    let words = (units.unit(Self.alias)?.commands() ?? []).flatMap(\.words)
    return words.lazy.compactMap { DisplayManager.named(Programs.base($0)) }.first ?? preset
  }

  /// A display manager is started, and it is none whose name is known.
  var unnamed: Place? {
    let units = context.startup.units
    guard context.startup.kind == .systemd, isStarted, let path = units.path(of: Self.alias),
      !units.isMasked(Self.alias), units.unit(Self.alias) != nil, aliased == nil
    else { return nil }
    return Place(path)
  }

  /// SUSE: /etc/sysconfig/displaymanager.
  private var preset: DisplayManager? {
    VariableFile.value("DISPLAYMANAGER", in: "/etc/sysconfig/displaymanager", system).flatMap {
      DisplayManager.named($0.text)
    }
  }

  /// Debian's units run only if default-display-manager names them.
  private func isOverruled(_ manager: DisplayManager) -> Bool {
    guard let chosen = chosenName, !manager.names.contains(chosen) else { return false }
    let checks = context.startup.units.unit(Self.alias)?.commands("ExecStartPre") ?? []
    return checks.contains { $0.words.contains { $0.contains("default-display-manager") } }
  }

  // MARK: Other inits

  private static let chosenPath = "/etc/X11/default-display-manager"
  private var chosenName: String? {
    system.text(Self.chosenPath)?.lines().first.map { Programs.base($0.trimmed) }
  }

  /// default-display-manager, or OpenRC's conf.d.
  private var chosen: Found? {
    if let name = chosenName, let manager = DisplayManager.named(name) {
      let isStarted = context.startup.kind == .systemd ? startsAsUnit(manager) : context.startup.starts(manager.names)
      return Found(manager: manager, isStarted: isStarted, place: Place(Self.chosenPath, line: 1))
    }
    for path in ["/etc/conf.d/display-manager", "/etc/conf.d/xdm"] {
      for line in LogicalLines(system.text(path) ?? "", comments: ["#"]) where line.text.hasPrefix("DISPLAYMANAGER=") {
        guard let manager = DisplayManager.named(UnitWords.split(String(line.text.dropFirst(15))).first ?? "") else {
          continue
        }
        return Found(
          manager: manager, isStarted: context.startup.starts(["display-manager", "xdm"]),
          place: Place(path, line: line.number))
      }
    }
    return nil
  }

  // MARK: Everything else that is installed

  private var others: [Found] {
    DisplayManager.allCases.compactMap { manager in
      let units = context.startup.units
      for name in manager.names {
        if let path = units.path(of: "\(name).service") {
          return Found(manager: manager, isStarted: startsAsUnit(manager), place: Place(path))
        }
        if context.startup.kind != .systemd, context.startup.kind != .none, let path = path(manager, name) {
          return Found(manager: manager, isStarted: startsAsScript(manager), place: Place(path))
        }
      }
      return nil
    }
  }

  /// The program, or the script that is all there is of it.
  private func path(_ manager: DisplayManager, _ name: String) -> String? {
    guard manager == .xserverNodm else { return Programs.path(name, system) }
    return system.exists(XServerNodm.script) ? XServerNodm.script : nil
  }

  /// By a script of its name, or by a command of init's.
  private func startsAsScript(_ manager: DisplayManager) -> Bool {
    context.startup.starts(manager.names)
      || !StartedCommands.of(system, context.startup).running(manager.names).isEmpty
  }

  /// A unit that is linked itself; without any link, the one that an alias or Debian's choice does not overrule.
  private func startsAsUnit(_ manager: DisplayManager) -> Bool {
    let units = context.startup.units
    let booted = context.startup.booted
    if !manager.names.allSatisfy({ units.canStart("\($0).service") }) { return false }
    if booted.hasNoLinks {
      guard isStarted else { return false }
      if units.path(of: Self.alias) != nil { return aliased == manager }
      return chosenName.map(manager.names.contains) ?? true
    }
    return manager.names.contains { booted.reaches("\($0).service") }
  }
}
