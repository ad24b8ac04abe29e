import Posture

/// Dialogs of a first start, in which whoever stands there makes themselves the administrator.
struct FirstBoot {
  let context: AuthContext
  private var booted: BootedUnits { context.startup.booted }
  private var units: Units { context.startup.units }

  static func look(_ context: AuthContext) -> ProbeResult {
    var result = ProbeResult()
    guard context.startup.usesUnits, let place = FirstBoot(context: context).dialog else { return result }
    let cause = Cause(
      "notModelled", observed: "a first start, in which whoever is there sets up an administrator", evidence: [place])
    result.gaps = [Gap(cause, checks: [.ownerAuthentication, .passcode])]
    return result
  }

  /// Those of Raspberry Pi OS, of NVIDIA's boards, of Ubuntu's preinstalled images, of Plasma: started until they were used.
  private static let services = [
    "userconfig.service", "nv-oem-config.service", "nv-oem-config-gui.service", "oem-config.service",
    "plasma-setup.service",
  ]

  private var dialog: Place? {
    Self.services.lazy.compactMap(started).first ?? prompt ?? desktop
  }

  private func started(_ name: String) -> Place? {
    guard booted.reaches(name), units.canStart(name) else { return nil }
    return units.unit(name)?.fragment.map { Place($0) }
  }

  // MARK: systemd-firstboot(1)

  /// It asks for root's password where there is none yet; a locked one is one.
  private var prompt: Place? {
    let name = "systemd-firstboot.service"
    guard started(name) != nil, let command = units.unit(name)?.commands().last, isFirst, isRootUnmade,
      command.arguments.contains(where: { $0 == "--prompt" || $0 == "--prompt-root-password" })
    else { return nil }
    return command.place
  }

  /// machine-id(5): missing, empty, or not yet made.
  private var isFirst: Bool {
    let text = context.system.text("/etc/machine-id")?.trimmed ?? ""
    return text.isEmpty || text == "uninitialized"
  }

  private var isRootUnmade: Bool {
    guard let root = context.accounts["root"] else { return true }
    return root.hash == "!unprovisioned"
  }

  // MARK: gdm

  /// gdm starts gnome-initial-setup where nobody could log in.
  private var desktop: Place? {
    guard context.accounts.owners.isEmpty, context.accounts.externalSources.isEmpty,
      let found = DisplayManagerSearch(context).found.first(where: { $0.manager == .gdm && $0.isStarted })
    else { return nil }
    let program = ["/usr/libexec/gnome-initial-setup", "/usr/lib/gnome-initial-setup/gnome-initial-setup"]
      .first(where: context.system.exists)
    return program != nil && GDM(context).startsInitialSetup ? found.place : nil
  }
}
