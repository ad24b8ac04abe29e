import Posture

/// Plasma's screen locker (kscreenlockerrc).
struct KDEIdle {
  private let values: [String: KConfigValue]

  init(_ home: UserFiles) throws(UserFiles.Fault) {
    var config = KConfig(group: "Daemon")
    // What all of KDE has in common comes first.
    for name in ["kdeglobals", "kscreenlockerrc"] {
      config.begin(name, home.system)
      if let text = try home.text(".config/\(name)") { config.read(text, path: home.path(".config/\(name)")) }
    }
    values = config.values
  }

  var lock: IdleLock {
    for key in ["Autolock", "Lock", "RequirePassword"] {
      if let value = values[key], !KConfig.isTrue(value.text) { return Self.open("\(key)=\(value.text)", value) }
    }
    let timeout = values["Timeout"]
    let minutes = timeout.map { Int($0.text) ?? 5 } ?? 5
    if let timeout, minutes <= 0 { return Self.open("Timeout=\(timeout.text)", timeout) }
    let reasons = [Reason("kde.autolock", values["Autolock"]?.place), Reason("kde.timeout", timeout?.place)]
    return .locked(by: .kde, reasons, note: "idle after \(minutes) min")
  }

  private static func open(_ observed: String, _ value: KConfigValue) -> IdleLock {
    .open([Reason("kde.autolock", value.place)], Cause("idleNotLocked", observed: observed, evidence: [value.place]))
  }
}
