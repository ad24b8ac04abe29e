import Posture

/// Rescue shells and boot loaders: `rescue@sulogin`, `boot@<loader>`.
enum BootDoors {
  static func look(_ context: AuthContext) -> ProbeResult {
    var result = ProbeResult()
    guard context.startup.kind != .none else { return result }
    let system = context.system
    let loaders =
      [Grub(system).door, SystemdBoot(system: system).door, Extlinux(system: system).door, PiBoot(system: system).door]
      .compactMap { $0 }
    let others = loaders.isEmpty ? OtherLoaders(system: system).doors : []
    let found = loaders + others
    result.doors = [RescueDoor(context).door].compactMap { $0 } + found
    if found.isEmpty, let sign = OtherLoaders(system: system).kernel ?? (system.isLive ? Place("/boot") : nil) {
      result.gaps = [
        Gap(Cause("bootLoaderUnknown", observed: "no known boot loader", evidence: [sign]), checks: [.bootEntry])
      ]
    }
    return result
  }

  /// The command line can be edited without a password, or need not be.
  static func open(
    _ loader: String, _ reason: Reason, _ observed: String, code: String = "bootCommandLineEditable"
  ) -> Door {
    door(loader, .always, reason, Cause(code, observed: observed, evidence: [reason.place].compactMap { $0 }))
  }

  /// Nobody can edit it.
  static func shut(_ loader: String, _ reason: Reason) -> Door { door(loader, .never, reason, nil) }

  static func unknown(_ loader: String, _ place: Place, _ observed: String) -> Door {
    door(
      loader, nil, Reason("boot.notModelled", place),
      Cause("bootLoaderUnknown", observed: observed, evidence: [place]))
  }

  private static func door(_ loader: String, _ opening: Opening?, _ reason: Reason, _ cause: Cause?) -> Door {
    var door = Door("boot@\(loader)", .boot, "*", opening, because: [reason], cause: cause)
    door.oncePerBoot = true
    return door
  }
}
