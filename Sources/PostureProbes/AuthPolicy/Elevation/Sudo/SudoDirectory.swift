import Posture

/// Rules of sudo that lie in a directory: where nsswitch.conf names it and it is set up.
enum SudoDirectory {
  /// The file that sets it up; nil where all rules are local.
  static func place(_ context: AuthContext) -> Place? {
    let sources = context.accounts.sources.sudoers
    if sources.contains("sss"), let place = sssd(context.system) { return place }
    return sources.contains("ldap") ? ldap(context.system) : nil
  }

  /// sssd answers sudo only where its list of services says so.
  private static func sssd(_ system: System) -> Place? {
    let path = "/etc/sssd/sssd.conf"
    for line in LogicalLines(system.text(path) ?? "") {
      guard let equals = line.text.firstIndex(of: "="), line.text[..<equals].trimmed == "services" else { continue }
      let names = line.text[line.text.index(after: equals)...].split(separator: ",").map(\.trimmed)
      if names.contains("sudo") { return Place(path, line: line.number) }
    }
    return nil
  }

  private static func ldap(_ system: System) -> Place? {
    for path in ["/etc/sudo-ldap.conf", "/etc/ldap.conf", "/etc/ldap/ldap.conf", "/etc/openldap/ldap.conf"] {
      for line in LogicalLines(system.text(path) ?? "") where line.text.lowercased().hasPrefix("sudoers_base") {
        return Place(path, line: line.number)
      }
    }
    return nil
  }
}
