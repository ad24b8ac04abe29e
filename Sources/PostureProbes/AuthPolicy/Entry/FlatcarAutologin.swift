import Posture

/// Gettys that Flatcar's generator gives to `core` without a question, where the kernel's command line says so
/// (flatcar-autologin-generator, and CoreOS's before it).
struct FlatcarAutologin {
  /// Names of units, templates among them.
  let units: Set<String>
  private let place: Place?

  init(_ context: AuthContext, _ kernel: BootWords) {
    // Where generators have run, the units themselves tell.
    let hasRun = context.startup.units.folders.contains { $0.path == "/run/systemd/generator" }
    units = hasRun || !Self.isThere(context) ? [] : Set(kernel.words.flatMap(Self.units))
    place = kernel.place
  }

  private static func isThere(_ context: AuthContext) -> Bool {
    let names = [context.distribution.id] + context.distribution.like
    return ["flatcar", "coreos"].contains {
      names.contains($0) || context.system.exists("/usr/lib/systemd/system-generators/\($0)-autologin-generator")
    }
  }

  /// `flatcar.autologin` means all terminals, `flatcar.autologin=ttyS0` one.
  private static func units(_ word: String) -> [String] {
    guard ["flatcar.", "coreos."].contains(where: word.hasPrefix), word.contains(".autologin") else { return [] }
    let terminal = word.split(separator: "=").dropFirst().first ?? ""
    if terminal.isEmpty { return ["getty@.service", "serial-getty@.service"] }
    return [terminal.contains("S") ? "serial-getty@\(terminal).service" : "getty@\(terminal).service"]
  }

  /// What it puts in the place of this unit's command; nil where it leaves it alone.
  func command(of unit: UnitName) -> UnitCommand? {
    guard let place, units.contains(unit.text) || unit.template.map(units.contains) ?? false else { return nil }
    return UnitCommand(words: ["/sbin/agetty", "--autologin", "core"], place: place)
  }
}
