import Posture

/// KeePassXC, which serves the Secret Service only while it runs: then the session's own word says more.
enum KeePassXCDoors {
  static func look(_ context: KeyringContext) -> ProbeResult {
    var result = ProbeResult()
    guard context.system.exists("/usr/bin/keepassxc") else { return result }
    for person in context.people {
      let home = Home(context.system, person)
      let path = ".config/keepassxc/keepassxc.ini"
      guard let file = try? home.read(path, cap: 256 << 10), isServing(file.text, home.path(path)) else { continue }
      let cause = Cause(
        "providerOnlyWhileRunning", observed: "KeePassXC is to serve secrets (FdoSecrets)",
        evidence: [Place(home.path(path))])
      result.remarks.append(Remark(cause, check: .keyring, subject: person.name))
    }
    return result
  }

  private static func isServing(_ text: String, _ path: String) -> Bool {
    var settings = KConfig(group: "FdoSecrets")
    settings.read(text, path: path)
    return settings["Enabled"]?.lowercased() == "true"
  }
}
