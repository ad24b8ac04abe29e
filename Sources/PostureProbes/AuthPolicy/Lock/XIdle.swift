import Posture

/// Desktops on X that leave locking to a program of its own: Xfce, LXDE, LXQt.
struct XIdle {
  private let home: UserFiles
  private let desktop: Desktop
  private let context: AuthContext

  init(_ home: UserFiles, _ desktop: Desktop, _ context: AuthContext) {
    self.home = home
    self.desktop = desktop
    self.context = context
  }

  /// The first locker that is there and that the user has not kept from starting.
  var lock: IdleLock {
    get throws(UserFiles.Fault) {
      let own = (desktop == .xfce ? [Locker.xfce4] : []) + [.lightLocker, .xscreensaver]
      var hidden: (locker: Locker, place: Place)?
      for locker in own where locker.isInstalled(context.system) {
        guard let place = try Autostart(home).isKept(from: locker.rawValue) else { return try lock(locker) }
        hidden = hidden ?? (locker, place)
      }
      let others = Locker.other(of: desktop, [.i3lock, .slock, .xsecurelock, .physlock], context.system)
      guard let hidden, !others.isUnknown else { return others }
      return .open(
        [Reason("autostart.hidden", hidden.place)],
        Cause("idleNotLocked", observed: "\(hidden.locker.rawValue) is not started", evidence: [hidden.place]))
    }
  }

  /// What the settings of one locker say.
  func lock(_ locker: Locker) throws(UserFiles.Fault) -> IdleLock {
    switch locker {
    case .xfce4: try xfce
    case .lightLocker: try lightLocker
    default: try xscreensaver
    }
  }

  // MARK: xfce4-screensaver: Xfconf's channel

  private static let switches = [
    "/saver/enabled", "/saver/idle-activation/enabled", "/lock/enabled", "/lock/saver-activation/enabled",
  ]

  private var xfce: IdleLock {
    get throws(UserFiles.Fault) {
      let name = "xfce4/xfconf/xfce-perchannel-xml/xfce4-screensaver.xml"
      let groups = Set(home.account.groups.map { "@\($0)" } + [home.account.name, "*"])
      var values: [String: (value: XfconfChannel.Value, place: Place)] = [:]
      var place: Place?
      for file in [try home.first(["/etc/xdg/\(name)"]), try home.first([".config/\(name)"])].compactMap({ $0 }) {
        place = Place(file.path)
        for (key, value) in XfconfChannel.values(file.text, for: groups) where values[key]?.value.isLocked != true {
          values[key] = (value, Place(file.path))
        }
      }
      for key in Self.switches {
        guard let (value, place) = values[key], value.text == "false" else { continue }
        return .open(
          [Reason("xfce.lock", place)], Cause("idleNotLocked", observed: "\(key) false", evidence: [place]))
      }
      return .locked(by: .xfce4, [Reason("xfce.lock", place)], note: nil)
    }
  }

  // MARK: light-locker: GSettings

  private var lightLocker: IdleLock {
    get throws(UserFiles.Fault) {
      let settings = try DconfSettings(home)
      let after = settings.integer(DconfKey("apps.light-locker", "lock-after-screensaver"), default: 5)
      if after.content == 0 {
        return .open(
          [Reason("lightLocker.lockAfterScreensaver", after.place)],
          Cause("idleNotLocked", observed: "lock-after-screensaver 0", evidence: after.place.map { [$0] }))
      }
      return .locked(by: .lightLocker, [Reason("lightLocker.lockAfterScreensaver", after.place)], note: nil)
    }
  }

  // MARK: xscreensaver(1)

  private var xscreensaver: IdleLock {
    get throws(UserFiles.Fault) {
      let values = try XScreenSaverFile(home)
      if let mode = values["mode"], mode.text == "off" { return Self.open("mode off", mode.place) }
      guard let lock = values["lock"], ["true", "on", "yes", "1"].contains(lock.text.lowercased()) else {
        return Self.open("lock not set", values["lock"]?.place)
      }
      return .locked(by: .xscreensaver, [Reason("xscreensaver.lock", lock.place)], note: nil)
    }
  }

  private static func open(_ observed: String, _ place: Place?) -> IdleLock {
    .open(
      [Reason("xscreensaver.lock", place)], Cause("idleNotLocked", observed: observed, evidence: place.map { [$0] }))
  }

  // MARK: Daemons that window managers start

  /// xss-lock locks with the X server's own screen saver, xautolock and xidlehook by their own clocks.
  static func daemon(_ name: String, _ arguments: [String], _ place: Place) -> IdleLock {
    guard let locker = IdleCommands.locker(in: arguments.joined(separator: " ")) else {
      return .unknown([Reason("idle.daemon", place)], Cause("notModelled", observed: name, evidence: [place]))
    }
    return .locked(by: locker, [Reason("idle.daemon", place)], note: nil)
  }
}

/// ~/.xscreensaver over the site's defaults.
struct XScreenSaverFile {
  private var values: [String: KConfigValue] = [:]

  init(_ home: UserFiles) throws(UserFiles.Fault) {
    for path in ["/usr/share/X11/app-defaults/XScreenSaver", "/etc/X11/app-defaults/XScreenSaver"] {
      if let text = home.system.text(path) { read(text, path) }
    }
    if let text = try home.text(".xscreensaver") { read(text, home.path(".xscreensaver")) }
  }

  private mutating func read(_ text: String, _ path: String) {
    for line in LogicalLines(text, comments: ["!", "#"]) {
      guard let colon = line.text.firstIndex(of: ":") else { continue }
      let key = line.text[..<colon].trimmed.split { $0 == "*" || $0 == "." }.last.map(String.init) ?? ""
      values[key] = KConfigValue(
        text: line.text[line.text.index(after: colon)...].trimmed, place: Place(path, line: line.number))
    }
  }

  subscript(key: String) -> KConfigValue? { values[key] }
}

/// A channel file of Xfconf: nested `<property name= type= value=>`, in a `<channel>`.
enum XfconfChannel {
  struct Value: Hashable {
    var text: String
    /// What a system's file fixes, no other file changes.
    var isLocked: Bool
  }

  /// Values by path, `/lock/enabled`, for somebody of these `names`: their own, `@group`, `*`.
  static func values(_ text: String, for names: Set<String> = []) -> [String: Value] {
    var result: [String: Value] = [:]
    var path: [(name: String, isLocked: Bool)] = []
    var isChannelLocked = false
    for tag in text.split(separator: "<").prefix(10_000) {
      let body = tag.prefix { $0 != ">" }
      if body.hasPrefix("channel ") { isChannelLocked = isLocked(body, names) }
      if body.hasPrefix("/property") {
        _ = path.popLast()
      } else if body.hasPrefix("property ") {
        let name = attribute("name", body) ?? ""
        let isLocked = isLocked(body, names) || path.last?.isLocked ?? isChannelLocked
        if let value = attribute("value", body) {
          result["/" + (path.map(\.name) + [name]).joined(separator: "/")] = Value(text: value, isLocked: isLocked)
        }
        if !body.ends(with: "/"), path.count < 64 { path.append((name, isLocked)) }
      }
    }
    return result
  }

  private static func isLocked(_ tag: Substring, _ names: Set<String>) -> Bool {
    func holds(_ key: String) -> Bool {
      attribute(key, tag)?.split(separator: ";").contains { names.contains($0.trimmed) } ?? false
    }
    return holds("locked") && !holds("unlocked")
  }

  private static func attribute(_ name: String, _ tag: Substring) -> String? {
    guard let start = tag.range(ofText: " \(name)=\"") else { return nil }
    return String(tag[start.upperBound...].prefix { $0 != "\"" })
  }
}

/// Programs that start with a session (the Desktop Application Autostart Specification).
struct Autostart {
  private let home: UserFiles

  init(_ home: UserFiles) { self.home = home }

  private static let shared = "/etc/xdg/autostart"
  private static let own = ".config/autostart"

  /// Where the user hides every file that would start a program; nil where there is none, or one that still does.
  func isKept(from program: String) throws(UserFiles.Fault) -> Place? {
    let shared = names(Self.shared)
    var hidden: Place?
    for name in Set(shared + names(home.path(Self.own))).sorted() {
      let file = try home.first(["\(Self.own)/\(name)", "\(Self.shared)/\(name)"])
      guard let file, let entries = try? GLibKeyFile(file.text) else { continue }
      let isOurs = starts(program, entries) || (shared.contains(name) && starts(program, "\(Self.shared)/\(name)"))
      guard isOurs else { continue }
      guard entries.entry("Desktop Entry", "Hidden").flatMap({ GLibKeyFile.boolean($0.value) }) == true else {
        return nil
      }
      hidden = Place(file.path)
    }
    return try startsOtherwise(program) ? nil : hidden
  }

  private func names(_ folder: String) -> [String] {
    ((try? home.system.list(folder)) ?? []).filter { $0.ends(with: ".desktop") }
  }

  private func starts(_ program: String, _ path: String) -> Bool {
    (try? GLibKeyFile(home.system.text(path) ?? "")).map { starts(program, $0) } ?? false
  }

  private func starts(_ program: String, _ file: GLibKeyFile) -> Bool {
    SimpleCommands.of(file.entry("Desktop Entry", "Exec")?.value ?? "").contains { Programs.base($0[0]) == program }
  }

  /// LXDE's own list, or a service of the user's.
  private func startsOtherwise(_ program: String) throws(UserFiles.Fault) -> Bool {
    let lists = [".config/lxsession/LXDE/autostart", "/etc/xdg/lxsession/LXDE/autostart"]
    if let list = try home.first(lists), list.text.contains(program) { return true }
    return UserServices(home).isLinked("\(program).service")
  }
}
