import Posture

/// KeePassXC, which serves the Secret Service only while it runs: then the session's own word says more.
enum KeePassXCDoors {
  static func look(_ context: KeyringContext) -> ProbeResult {
    var result = ProbeResult()
    for person in context.people {
      guard let place = settings(Home(context.system, person)) else { continue }
      let cause = Cause(
        "providerOnlyWhileRunning", observed: "KeePassXC is to serve secrets (FdoSecrets)", evidence: [place])
      result.remarks.append(Remark(cause, check: .keyring, subject: person.name))
    }
    return result
  }

  /// The person's settings, where it is installed and by them serves secrets.
  static func settings(_ home: Home) -> Place? {
    let path = ".config/keepassxc/keepassxc.ini"
    guard home.system.exists("/usr/bin/keepassxc"), let file = try? home.read(path, cap: 256 << 10),
      isServing(file.text, home.path(path))
    else { return nil }
    return Place(home.path(path))
  }

  private static func isServing(_ text: String, _ path: String) -> Bool {
    var settings = KConfig(group: "FdoSecrets")
    settings.read(text, path: path)
    return settings["Enabled"]?.lowercased() == "true"
  }
}
