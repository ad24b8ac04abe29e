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

  /// Programs of sessions that start this desktop.
  var starters: Set<String> {
    switch self {
    case .gnome: ["gnome-session", "gnome-session-classic", "gnome-session-ubuntu"]
    case .budgie: ["budgie-desktop"]
    case .cinnamon: ["cinnamon-session-cinnamon", "cinnamon-session-cinnamon2d"]
    case .i3: ["i3-with-shmlog"]
    default: Set(programs)
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
    case .budgie: [.gnomeScreensaver, .gnome]
    case .lxde, .lxqt, .i3: [.xscreensaver, .lightLocker, .i3lock, .physlock, .slock, .xsecurelock]
    case .unity: []
    }
  }

  static func installed(_ system: System) -> [Desktop] {
    allCases.filter { desktop in desktop.programs.contains { Programs.has($0, system) } }
  }

  /// Sessions that belong to no known desktop and whose program is there.
  static func unknownSessions(_ system: System) -> [String] {
    let known = Set(allCases.flatMap { $0.programs + Array($0.starters) })
    let names = SessionFiles.all(system).compactMap { session -> String? in
      let program = Programs.base(session.program)
      guard !program.isEmpty, !known.contains(program), !program.hasPrefix("gnome-session"),
        session.program.hasPrefix("/") ? system.exists(session.program) : Programs.has(program, system)
      else { return nil }
      return session.name
    }
    return Set(names).sorted()
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
  func services(_ context: AuthContext) -> [String]? {
    switch self {
    case .gnome: GDM.services(context.pam)
    case .kde: ["kde"] + ["kde-fingerprint", "kde-smartcard"].filter(context.pam.hasService)
    case .hyprlock: [Self.hyprlockService(context.system)]
    case .lightLocker: ["lightdm"]
    case .mate: ["mate-screensaver"]
    case .cinnamon: ["cinnamon-screensaver"]
    case .slock, .xsecurelock: nil
    default: [rawValue]
    }
  }

  /// hyprlock takes `su` where its own file is missing.
  private static func hyprlockService(_ system: System) -> String {
    system.exists("/etc/pam.d/hyprlock") ? "hyprlock" : "su"
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
    guard let services = services(context) else {
      return .unknown(Reason("locker.notModelled"), Cause("notModelled", observed: "locker \(rawValue)"))
    }
    let outcomes = services.map { service in
      var call = PAM.Call(service)
      call.withAccountPhase = false
      call.callerUID = callerUID(account)
      return context.pam.outcome(of: call, for: account)
    }
    return PAM.Outcome.anyOf(outcomes)
  }
}
