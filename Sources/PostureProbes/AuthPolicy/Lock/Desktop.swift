import Posture

/// The desktops whose locking is known.
enum Desktop: String, CaseIterable, Sendable {
  case gnome, kde, sway, hyprland, xfce, mate, cinnamon, budgie, lxde, lxqt, i3, unity

  /// Programs of which one has to be there.
  var programs: [String] {
    switch self {
    case .gnome: ["gnome-shell"]
    case .kde: ["plasmashell", "startplasma-wayland", "startplasma-x11", "startkde"]
    case .sway: ["sway"]
    case .hyprland: ["Hyprland", "hyprland"]
    case .xfce: ["xfce4-session", "startxfce4"]
    case .mate: ["mate-session"]
    case .cinnamon: ["cinnamon-session", "cinnamon"]
    case .budgie: ["budgie-panel", "budgie-wm"]
    case .lxde: ["lxsession", "startlxde", "lxsession-xdg-autostart", "startlxde-pi"]
    case .lxqt: ["lxqt-session", "startlxqt"]
    case .i3: ["i3"]
    case .unity: ["unity", "unity8"]
    }
  }

  /// Programs of sessions that start this desktop, besides its own.
  private var starters: [String] {
    switch self {
    case .sway: ["start-sway"]
    case .hyprland: ["start-hyprland"]
    case .budgie: ["budgie-desktop"]
    case .cinnamon: ["cinnamon-session-cinnamon", "cinnamon-session-cinnamon2d"]
    case .i3: ["i3-with-shmlog"]
    default: []
    }
  }

  /// Lockers that its users lock it with.
  var lockers: [Locker] {
    switch self {
    case .gnome: [.gnome]
    case .kde: [.kde]
    case .sway: [.swaylock, .gtklock, .waylock, .hyprlock]
    case .hyprland: [.hyprlock, .swaylock, .gtklock]
    case .xfce: [.xfce4, .lightLocker, .xscreensaver, .i3lock, .physlock]
    case .mate: [.mate, .xscreensaver]
    case .cinnamon: [.cinnamon]
    case .budgie: [.budgieScreensaver, .gnomeScreensaver]
    case .lxde, .lxqt, .i3: [.xscreensaver, .lightLocker, .i3lock, .physlock, .slock, .xsecurelock]
    case .unity: []
    }
  }

  /// Whether this session is one of this desktop's: by what it starts, or by the name it goes by.
  private func isStarted(by session: Session) -> Bool {
    let program = Programs.base(session.program)
    if programs.contains(program) || starters.contains(program) { return true }
    // Other shells than GNOME's are started by its session manager too.
    if self == .gnome, program.hasPrefix("gnome-session") {
      return session.desktops.isEmpty
        || (session.desktops.contains("GNOME") && !session.desktops.contains(where: Self.otherShells.contains))
    }
    let names = [session.name, session.desktops.first ?? ""].map { ASCII.lowercased($0) }
    return names.contains { $0 == rawValue || $0 == "x-\(rawValue)" }
  }

  /// What calls itself GNOME besides and has another shell.
  private static let otherShells: Set = ["GNOME-Flashback", "GNOME-Kiosk", "Budgie"]

  /// What XDG_CURRENT_DESKTOP is in its sessions, those of the most particular session first.
  func names(_ system: System) -> [String] {
    let own = SessionFiles.all(system).filter(isStarted).map(\.desktops).sorted { $0.count > $1.count }.flatMap(\.self)
    if !own.isEmpty { return own }
    switch self {
    case .gnome: return ["GNOME"]
    case .budgie: return ["Budgie", "GNOME"]
    case .cinnamon: return ["X-Cinnamon"]
    case .mate: return ["MATE"]
    default: return []
    }
  }

  /// The display manager that keeps GNOME from locking: its shell asks gdm to.
  static func rivalOfGDM(_ context: AuthContext) -> DisplayManagerSearch.Found? {
    let started = DisplayManagerSearch(context).found.filter(\.isStarted)
    return started.contains { $0.manager == .gdm } ? nil : started.first
  }

  static func installed(_ system: System) -> [Desktop] {
    allCases.filter { desktop in desktop.programs.contains { Programs.has($0, system) } }
  }

  /// Sessions that belong to no known desktop that is there, and whose program is there.
  static func unknownSessions(_ system: System) -> [String] {
    let known = installed(system)
    let sessions = SessionFiles.all(system).filter { session in
      !session.program.isEmpty && !known.contains { $0.isStarted(by: session) }
        && (session.program.hasPrefix("/") ? system.exists(session.program) : Programs.has(session.program, system))
    }
    return Set(sessions.map(\.name)).sorted()
  }
}

/// Programs that lock a session and let its user back in.
enum Locker: String, CaseIterable, Sendable {
  case gnome, kde, swaylock, gtklock, waylock, hyprlock, xscreensaver, i3lock, physlock, vlock, slock, xsecurelock,
    mate,
    cinnamon
  case lightLocker = "light-locker"
  case xfce4 = "xfce4-screensaver"
  case gnomeScreensaver = "gnome-screensaver"
  case budgieScreensaver = "budgie-screensaver"

  /// Programs of which one has to be there.
  private var programs: [String] {
    switch self {
    case .gnome: ["gnome-shell"]
    case .kde: ["plasmashell", "startplasma-wayland", "startplasma-x11", "startkde"]
    case .mate: ["mate-screensaver"]
    case .cinnamon: ["cinnamon-screensaver"]
    default: [rawValue]
    }
  }

  /// A desktop without a locker that is known: open, unless one of these may be in use.
  static func other(of desktop: Desktop, _ lockers: [Locker], _ system: System) -> IdleLock {
    if let other = lockers.first(where: { $0.isInstalled(system) }) {
      return .unknown(
        [Reason("idle.notModelled")], Cause("notModelled", observed: "\(other.rawValue) on \(desktop.rawValue)"))
    }
    return .open([Reason("idle.noLocker")], Cause("idleNotLocked", observed: "\(desktop.rawValue) has no locker"))
  }

  /// KDE's greeter is no program of the path.
  private static let kdeGreeters = [
    "/usr/libexec/kscreenlocker_greet", "/usr/lib/kscreenlocker_greet", "/usr/lib64/libexec/kscreenlocker_greet",
    "/usr/lib/x86_64-linux-gnu/libexec/kscreenlocker_greet", "/usr/lib/aarch64-linux-gnu/libexec/kscreenlocker_greet",
    "/usr/lib/arm-linux-gnueabihf/libexec/kscreenlocker_greet", "/usr/libexec/kf5/kscreenlocker_greet",
  ]

  func isInstalled(_ system: System) -> Bool {
    if programs.contains(where: { Programs.has($0, system) }) { return true }
    return self == .kde && Self.kdeGreeters.contains(where: system.exists)
  }

  /// PAM services, each of which lets the user back in; nil: it asks by its own rules.
  func services(for account: Account?, _ context: AuthContext) -> [String]? {
    switch self {
    case .gnome: GDM.services(context, account.flatMap { try? DconfSettings(UserFiles($0, context.system)) })
    case .kde: ["kde"] + ["kde-fingerprint", "kde-smartcard"].filter(context.pam.hasService)
    case .lightLocker: ["lightdm"]
    case .mate: ["mate-screensaver"]
    case .cinnamon: ["cinnamon-screensaver"]
    case .slock, .xsecurelock: nil
    default: [rawValue]
    }
  }

  /// gdm and lightdm ask as root, all others as the user who is locked out.
  func callerUID(_ account: Account?) -> UInt32 {
    switch self {
    case .gnome, .lightLocker, .physlock: 0
    default: account?.uid ?? UInt32.max
    }
  }

  /// What `account` is asked to get back in.
  func outcome(for account: Account?, _ context: AuthContext) -> PAM.Outcome {
    if self == .hyprlock { return hyprlock(account, context) }
    guard let services = services(for: account, context) else {
      return .unknown(Reason("locker.notModelled"), Cause("notModelled", observed: "locker \(rawValue)"))
    }
    return PAM.Outcome.anyOf(services.map { outcome(of: $0, account, context) })
  }

  private func outcome(of service: String, _ account: Account?, _ context: AuthContext) -> PAM.Outcome {
    var call = PAM.Call(service)
    call.withAccountPhase = false
    call.callerUID = callerUID(account)
    return context.pam.outcome(of: call, for: account)
  }

  private func hyprlock(_ account: Account?, _ context: AuthContext) -> PAM.Outcome {
    do throws(UserFiles.Fault) {
      let settings = try Hyprlock(account, context.system)
      var ways = [settings.service].compactMap { $0 }.map { outcome(of: $0, account, context) }
      if settings.asksFinger { ways.append(Hyprlock.finger(of: account, context.system)) }
      // It does not even start where it is to ask nothing.
      guard !ways.isEmpty else {
        return .unknown(Reason("locker.notModelled"), Cause("notModelled", observed: "hyprlock without a way to ask"))
      }
      return PAM.Outcome.anyOf(ways)
    } catch {
      return .unknown(Reason("idle.unreadable", error.place), error.cause)
    }
  }
}
