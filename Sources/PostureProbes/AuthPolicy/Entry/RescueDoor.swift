import Posture

/// `rescue@sulogin`: what stands before the shell of rescue and emergency mode.
struct RescueDoor {
  private let context: AuthContext
  private static let name = "rescue@sulogin"

  init(_ context: AuthContext) { self.context = context }

  /// The weakest of the ways; nil where there is none.
  var door: Door? {
    guard let root = context.accounts.all.first(where: \.isRoot) else { return nil }
    let outcomes = (units + inittab).map { way in Self.outcome(way, root) }
    guard !outcomes.isEmpty else { return nil }
    let outcome = PAM.Outcome.anyOf(outcomes)
    var door = Door(Self.name, .boot, root.name, outcome.opening, because: outcome.because, cause: outcome.cause)
    door.oncePerBoot = true
    return door
  }

  struct Way {
    var reading: TerminalReading
    var observed: String
    var place: Place
  }

  private static func outcome(_ way: Way, _ root: Account) -> PAM.Outcome {
    switch way.reading {
    case .sulogin(let isForced): return Sulogin.outcome(for: root, isForced: isForced, place: way.place)
    case .rootShell:
      return PAM.Outcome(
        opening: .always, because: [Reason("rescue.shell", way.place)],
        cause: Cause("rescueWithoutPassword", observed: way.observed, evidence: [way.place]))
    default:
      return .unknown(
        Reason("rescue.notModelled", way.place), Cause("notModelled", observed: way.observed, evidence: [way.place]))
    }
  }

  private var units: [Way] {
    guard context.startup.kind == .systemd else { return [] }
    return ["rescue.service", "emergency.service"].compactMap(way)
  }

  /// What stands before the shell of one of systemd's two units.
  func way(_ name: String) -> Way? {
    guard let unit = context.startup.units.unit(name), !unit.isMasked else { return nil }
    let environment = unit.environment { context.system.text($0) }
    guard let command = unit.commands(environment: environment).last else { return nil }
    var way = Way(
      reading: TerminalReader(system: context.system).read(command.words),
      observed: command.words.joined(separator: " "), place: command.place)
    // systemd's wrapper takes the force from its environment.
    if case .sulogin(false) = way.reading, Programs.base(command.program) == "systemd-sulogin-shell",
      let (value, place) = force(unit, environment), !unit.unsets(Self.variable, value),
      SystemdBoolean.parse(value) == true
    {
      way.reading = .sulogin(isForced: true)
      way.place = place ?? way.place
    }
    return way
  }

  private static let variable = "SYSTEMD_SULOGIN_FORCE"

  /// Of the unit itself, else of the manager, which every service inherits.
  private func force(_ unit: Unit, _ environment: [String: String]) -> (String, Place?)? {
    if let value = environment[Self.variable] {
      return (value, unit.values("Environment").last { $0.value.contains(Self.variable) }?.place)
    }
    let kernel = context.system.shared { BootWords(context.system) }
    if let value = kernel.environment(Self.variable) { return (value, kernel.place) }
    let settings = SystemdConfiguration.settings("system.conf", context.system)
    for setting in settings.reversed() where setting.key == "DefaultEnvironment" {
      var variables: [String: String] = [:]
      for word in UnitWords.split(setting.value) { UnitWords.assign(word, in: &variables) }
      if let value = variables[Self.variable] { return (value, setting.place) }
    }
    return nil
  }

  /// sysvinit's single user mode: `~~:S:wait:/sbin/sulogin`.
  private var inittab: [Way] {
    guard context.startup.kind == .sysvinit,
      let entries = try? InittabConsoles(context.system, isBusyBox: false).entries
    else { return [] }
    return entries.compactMap { entry in
      guard entry.action == "wait" || entry.action == "respawn", entry.levels.contains("S") || entry.levels == "1",
        !entry.levels.contains("3")
      else { return nil }
      let words = UnitWords.split(entry.process)
      let reading = TerminalReader(system: context.system).read(words)
      switch reading {
      case .sulogin, .rootShell:
        return Way(reading: reading, observed: entry.process, place: entry.place)
      default: return nil
      }
    }
  }
}
