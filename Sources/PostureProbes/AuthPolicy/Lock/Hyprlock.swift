import Posture

/// How hyprlock asks: PAM, and fprintd by itself (hyprlock.conf, `auth`).
struct Hyprlock {
  /// nil: not by PAM.
  private(set) var service: String?
  private(set) var asksFinger = false

  private static let files = [".config/hypr/hyprlock.conf", "/etc/xdg/hypr/hyprlock.conf"]

  /// What the user's file says, or the system's; without an account the system's alone.
  init(_ account: Account?, _ system: System) throws(UserFiles.Fault) {
    var settings: [HyprConfig.Setting] = []
    if let account { settings = try Self.settings(UserFiles(account, system)) }
    func value(_ section: String, _ key: String) -> String? {
      settings.last { $0.section == section && $0.key == key }?.value
    }
    if value("auth:pam", "enabled").map(HyprConfig.isTrue) ?? true {
      let module = value("auth:pam", "module") ?? "hyprlock"
      // It takes `su` where its own file is missing.
      service = system.exists("/etc/pam.d/\(module)") ? module : "su"
    }
    asksFinger = value("auth:fingerprint", "enabled").map(HyprConfig.isTrue) ?? false
  }

  static func settings(_ home: UserFiles) throws(UserFiles.Fault) -> [HyprConfig.Setting] {
    guard let file = try home.first(files) else { return [] }
    return try HyprConfig(file, home).settings
  }

  /// A finger that fprintd knows.
  static func finger(of account: Account?, _ system: System) -> PAM.Outcome {
    guard let account else { return .never }
    switch Fingerprints(system).prints(of: account.name) {
    case .none: return .never
    case .some(let place):
      return PAM.Outcome(
        opening: Opening([FactorSet(.biometric)]), because: [Reason("fprint.enrolled", place)], cause: nil)
    case .unreadable(let cause): return .unknown(Reason("fprint.unreadable"), cause)
    }
  }
}
