import Posture

/// Plasma's screen locker (kscreenlockerrc).
struct KDEIdle {
  private let values: [String: KConfigValue]

  init(_ home: UserFiles) throws(UserFiles.Fault) {
    var config = KConfig(group: "Daemon")
    for folder in Self.systemFolders(home.system).reversed() {
      let path = "\(folder)/kscreenlockerrc"
      if let text = home.system.text(path) { config.read(text, path: path) }
    }
    if let text = try home.text(".config/kscreenlockerrc") {
      config.read(text, path: home.path(".config/kscreenlockerrc"))
    }
    values = config.values
  }

  /// XDG_CONFIG_DIRS as distributions set it, strongest first.
  private static func systemFolders(_ system: System) -> [String] {
    [
      "/etc/xdg", "/usr/share/kde-settings/kde-profile/default/xdg", "/usr/share/kubuntu-default-settings/kf6-settings",
      "/usr/share/kubuntu-default-settings/kf5-settings", "/usr/etc/xdg",
    ]
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

struct KConfigValue: Hashable, Sendable {
  var text: String
  var place: Place
}

/// One group of KDE's cascading files: later files win, except over what `[$i]` makes immutable.
struct KConfig {
  let group: String
  private(set) var values: [String: KConfigValue] = [:]
  private var immutable = Set<String>()
  private var isGroupImmutable = false

  init(group: String) { self.group = group }

  mutating func read(_ text: String, path: String) {
    guard !isGroupImmutable else { return }
    var isOurs = false
    var fileLocks = false
    var groupLocks = false
    var fixed = Set<String>()
    for line in LogicalLines(text, comments: ["#"]) {
      if line.text.hasPrefix("[") {
        if line.text == "[$i]" {
          fileLocks = true
          continue
        }
        isOurs = line.text == "[\(group)]" || line.text == "[\(group)][$i]"
        if isOurs, line.text.hasSuffix("[$i]") { groupLocks = true }
      } else if isOurs, let equals = line.text.firstIndex(of: "=") {
        let written = line.text[..<equals].trimmed
        let key = written.split(separator: "[").first.map { $0.trimmed } ?? written
        guard !immutable.contains(key) else { continue }
        if written.contains("$i") || written.contains("[$ei") { fixed.insert(key) }
        values[key] = KConfigValue(
          text: line.text[line.text.index(after: equals)...].trimmed, place: Place(path, line: line.number))
      }
    }
    immutable.formUnion(fixed)
    isGroupImmutable = fileLocks || groupLocks
  }

  /// KConfigGroup's words for true.
  static func isTrue(_ text: String) -> Bool { ["true", "on", "yes", "1"].contains(text.lowercased()) }
}
