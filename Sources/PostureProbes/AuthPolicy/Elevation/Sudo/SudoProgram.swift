/// Which sudo this is.
enum SudoProgram {
  /// sudo-rs, by another name through links: Ubuntu's from 25.10 on.
  static func isRust(_ system: System) -> Bool {
    guard let path = Programs.path("sudo", system) else { return false }
    let target = Programs.target(of: path, system)
    return Programs.base(target) == "sudo-rs" || target.contains("/sudo-rs/") || target.hasPrefix("/usr/lib/cargo/bin/")
  }

  /// Whether it takes the host's name from the resolver: the setting `fqdn`, which Debian builds it with. nil where that
  /// cannot be told.
  static func resolvesHost(_ settings: [Sudoers.Setting], _ system: System) -> Bool? {
    if isRust(system) { return false }
    let said = settings.filter { $0.name == "fqdn" }
    guard said.allSatisfy({ $0.scope == .everybody }) else { return nil }
    return said.last?.isOn ?? (Distribution.of(system).isDebian ? true : nil)
  }

  /// The settings that sudo-rs knows, of those that matter here; it passes over all others.
  static let rustSettings: Set = ["rootpw", "targetpw"]
}
