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

  var lock: IdleLock {
    get throws(UserFiles.Fault) {
      let system = context.system
      if desktop == .xfce, Locker.xfce4.isInstalled(system) { return try xfce }
      if Locker.lightLocker.isInstalled(system) { return try lightLocker }
      if Locker.xscreensaver.isInstalled(system) { return try xscreensaver }
      let others = [Locker.i3lock, .slock, .xsecurelock, .physlock].filter { $0.isInstalled(system) }
      if let other = others.first {
        return .unknown(
          [Reason("idle.notModelled")], Cause("notModelled", observed: "\(other.rawValue) on \(desktop.rawValue)"))
      }
      return .open([Reason("idle.noLocker")], Cause("idleNotLocked", observed: "\(desktop.rawValue) has no locker"))
    }
  }

  // MARK: xfce4-screensaver: Xfconf's channel

  private static let switches = [
    "/saver/enabled", "/saver/idle-activation/enabled", "/lock/enabled", "/lock/saver-activation/enabled",
  ]

  private var xfce: IdleLock {
    get throws(UserFiles.Fault) {
      let name = "xfce4/xfconf/xfce-perchannel-xml/xfce4-screensaver.xml"
      var values: [String: String] = [:]
      var place: Place?
      for file in ["/etc/xdg/\(name)", home.path(".config/\(name)")] {
        let text = file.hasPrefix("/etc/") ? context.system.text(file) : try home.text(".config/\(name)")
        guard let text else { continue }
        values.merge(XfconfChannel.values(text)) { $1 }
        place = Place(file)
      }
      for key in Self.switches where values[key] == "false" {
        return .open(
          [Reason("xfce.lock", place)], Cause("idleNotLocked", observed: "\(key) false", evidence: place.map { [$0] }))
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

/// A channel file of Xfconf: nested `<property name= type= value=>`.
enum XfconfChannel {
  /// Values by path: `/lock/enabled`.
  static func values(_ text: String) -> [String: String] {
    var result: [String: String] = [:]
    var path: [String] = []
    for tag in text.split(separator: "<").prefix(10_000) {
      let body = tag.prefix { $0 != ">" }
      if body.hasPrefix("/property") {
        _ = path.popLast()
      } else if body.hasPrefix("property ") {
        let name = attribute("name", body) ?? ""
        if let value = attribute("value", body) { result["/" + (path + [name]).joined(separator: "/")] = value }
        if !body.ends(with: "/"), path.count < 64 { path.append(name) }
      }
    }
    return result
  }

  private static func attribute(_ name: String, _ tag: Substring) -> String? {
    guard let start = tag.range(ofText: " \(name)=\"") else { return nil }
    return String(tag[start.upperBound...].prefix { $0 != "\"" })
  }
}
