/// Which sudo this is.
enum SudoProgram {
  /// sudo-rs, by another name through links: Ubuntu's from 25.10 on.
  static func isRust(_ system: System) -> Bool {
    guard let path = Programs.path("sudo", system) else { return false }
    let target = Programs.target(of: path, system)
    return Programs.base(target) == "sudo-rs" || target.contains("/sudo-rs/") || target.hasPrefix("/usr/lib/cargo/bin/")
  }

  /// The settings that sudo-rs knows, of those that matter here; it passes over all others.
  static let rustSettings: Set = ["rootpw", "targetpw"]
}
