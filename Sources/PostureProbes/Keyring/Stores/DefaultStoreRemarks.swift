import Posture

/// What is worth a remark about the stores that new secrets go to.
enum DefaultStoreRemarks {
  static func look(_ context: KeyringContext, _ doors: [Door]) -> [Remark] {
    let stores = doors.filter { $0.isDefault && $0.answer == .required }
    if stores.isEmpty { return [] }
    // The same for everybody, and it takes a look at every service.
    let locked = modules.filter { kind in stores.contains { $0.name.hasPrefix(kind.prefix) } }
      .filter { !isUnlockedAtLogin(context, $0.modules) }.map(\.prefix)
    return stores.flatMap { store in
      [
        locked.contains(where: store.name.hasPrefix) ? lockedAtLogin(store) : nil,
        store.ground?.isDeviceBound == true ? nil : portable(store),
      ].compactMap { $0 }
    }
  }

  private static func portable(_ store: Door) -> Remark {
    let cause = Cause(
      "passcodeBoundPortable", observed: "\(store.name) opens on any machine",
      evidence: store.because.compactMap(\.place))
    return Remark(cause, check: .deviceBinding, subject: store.subject, door: store.name)
  }

  // MARK: Unlocked at login

  /// Services through which somebody comes in with a password.
  static let services = ["gdm-password", "lightdm", "sddm", "greetd", "lxdm", "login"]
  private static let modules: [(prefix: String, modules: [String])] = [
    ("secrets@gnome-keyring:", ["pam_gnome_keyring.so"]),
    ("secrets@kwallet:", ["pam_kwallet5.so", "pam_kwallet.so"]),
  ]

  /// True as well where nobody logs in at all.
  private static func isUnlockedAtLogin(_ context: KeyringContext, _ modules: [String]) -> Bool {
    let (distribution, accounts, system) = (context.distribution, context.accounts, context.system)
    let pam = system.shared { PAM(system, distribution, accounts) }
    let present = services.filter(pam.hasService)
    return present.isEmpty
      || present.contains { service in
        pam.lines(of: service, .auth).contains { modules.contains($0.module) && $0.isInstalled }
      }
  }

  /// Inconvenient, and no hole: the store keeps its own passcode.
  private static func lockedAtLogin(_ store: Door) -> Remark {
    let cause = Cause(
      "keyringNotUnlockedAtLogin", observed: "no login hands its password to \(store.name)",
      evidence: store.because.compactMap(\.place))
    return Remark(cause, check: .keyring, subject: store.subject, door: store.name)
  }
}
