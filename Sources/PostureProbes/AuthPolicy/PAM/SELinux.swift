/// What is known of SELinux on this system.
struct SELinux {
  private let system: System
  private let settings: [String: String]

  init(_ system: System) {
    self.system = system
    let lines = ConfigurationLines(system, "/etc/selinux/config")
    settings = Dictionary(lines.map { ($0.name, $0.value) }) { $1 }
  }

  /// What the kernel says, else what keeps it from enforcing; nil where that only may be.
  var isEnforcing: Bool? {
    if let state = system.text("/sys/fs/selinux/enforce") { return state.trimmed == "1" }
    // libselinux takes a system without this file for one without SELinux.
    if !system.exists("/etc/selinux/config") { return false }
    let boot = BootWords(system)
    if boot.value("selinux") == "0" || boot.value("enforcing") == "0" { return false }
    switch settings["SELINUX"]?.lowercased() {
    case "disabled": return false
    case "permissive" where boot.value("enforcing") == nil: return false
    default: return nil
    }
  }

  /// The user of SELinux that an account becomes (seusers(5)); without a row, the one of the same name.
  func user(of account: Account) -> String {
    let text = system.text("/etc/selinux/\(settings["SELINUXTYPE"] ?? "targeted")/seusers") ?? ""
    let rows = text.lines().map { $0.trimmed.split(separator: ":").map(String.init) }.filter { $0.count > 1 }
    let row =
      rows.first { $0[0] == account.name }
      ?? rows.first { $0[0].hasPrefix("%") && account.isMember(of: String($0[0].dropFirst())) }
      ?? rows.first { $0[0] == "__default__" }
    return row?[1] ?? account.name
  }
}
