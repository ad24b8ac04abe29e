import Posture

/// Plasma's screen locker (kscreenlockerrc).
struct KDEIdle {
  private let values: [String: KConfigValue]

  init(_ home: UserFiles) throws(UserFiles.Fault) {
    var config = KConfig(group: "Daemon", of: "kscreenlockerrc", home.system)
    if let text = try home.text(".config/kscreenlockerrc") {
      config.read(text, path: home.path(".config/kscreenlockerrc"))
    }
    values = config.values
  }

  var lock: IdleLock {
    let automatic = values["Autolock"]
    if let automatic, !KConfig.isTrue(automatic.text) { return Self.open("Autolock=\(automatic.text)", automatic) }
    let timeout = values["Timeout"]
    let minutes = timeout.map { Int($0.text) ?? 5 } ?? 5
    if let timeout, minutes <= 0 { return Self.open("Timeout=\(timeout.text)", timeout) }
    let reasons = [Reason("kde.autolock", automatic?.place), Reason("kde.timeout", timeout?.place)]
    return .locked(by: .kde, reasons, note: "idle after \(minutes) min")
  }

  private static func open(_ observed: String, _ value: KConfigValue) -> IdleLock {
    .open([Reason("kde.autolock", value.place)], Cause("idleNotLocked", observed: observed, evidence: [value.place]))
  }
}
