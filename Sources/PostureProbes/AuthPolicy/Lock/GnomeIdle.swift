import Posture

/// GNOME and its relatives: a locker that works, and three keys together.
struct GnomeIdle {
  private enum Kind { case gnome, cinnamon, mate }

  private let settings: DconfSettings
  private let desktop: Desktop
  private let kind: Kind

  init(_ home: UserFiles, _ desktop: Desktop) throws(UserFiles.Fault) {
    settings = try DconfSettings(home, desktops: desktop.names(home.system))
    self.desktop = desktop
    kind =
      switch desktop {
      case .cinnamon: .cinnamon
      case .mate: .mate
      default: .gnome
      }
  }

  func lock(_ context: AuthContext) -> IdleLock {
    if desktop == .gnome, let rival = Desktop.rivalOfGDM(context) {
      return .open(
        [Reason("gnome.withoutGDM", rival.place)],
        Cause(
          "idleNotLocked", observed: "gnome cannot lock under \(rival.manager.rawValue)", evidence: [rival.place]))
    }
    if desktop == .budgie, !Locker.budgieScreensaver.isInstalled(context.system),
      !Locker.gnomeScreensaver.isInstalled(context.system)
    {
      return Locker.other(of: desktop, [.gtklock, .swaylock, .lightLocker, .xscreensaver, .i3lock], context.system)
    }
    var reasons: [Reason] = []
    for (key, wanted) in switches {
      let value = settings.boolean(key, default: wanted)
      reasons.append(Reason("dconf.\(key.name)", value.place))
      if value.content != wanted { return open("\(key.name)=\(value.content)", key, value.place) }
    }
    let delay = settings.integer(delayKey, kind == .mate ? "i" : "u", default: defaultDelay)
    if delay.content <= 0 { return open("\(delayKey.name)=\(delay.content)", delayKey, delay.place) }
    reasons.append(Reason("dconf.\(delayKey.name)", delay.place))
    return .locked(by: locker(context.system), reasons, note: "idle after \(delay.content) \(unit)")
  }

  private func open(_ observed: String, _ key: DconfKey, _ place: Place?) -> IdleLock {
    .open(
      [Reason("dconf.\(key.name)", place)], Cause("idleNotLocked", observed: observed, evidence: place.map { [$0] }))
  }

  /// Keys with the value that lets the lock work.
  private var switches: [(DconfKey, Bool)] {
    switch kind {
    case .gnome:
      [
        (DconfKey("org.gnome.desktop.lockdown", "disable-lock-screen"), false),
        (DconfKey("org.gnome.desktop.screensaver", "lock-enabled"), true),
      ]
    case .cinnamon:
      [
        (DconfKey("org.cinnamon.desktop.lockdown", "disable-lock-screen"), false),
        (DconfKey("org.cinnamon.desktop.screensaver", "lock-enabled"), true),
      ]
    case .mate:
      [
        (DconfKey("org.mate.lockdown", "disable-lock-screen"), false),
        (DconfKey("org.mate.screensaver", "lock-enabled"), true),
        (DconfKey("org.mate.screensaver", "idle-activation-enabled"), true),
      ]
    }
  }

  private var delayKey: DconfKey {
    switch kind {
    case .gnome: DconfKey("org.gnome.desktop.session", "idle-delay")
    case .cinnamon: DconfKey("org.cinnamon.desktop.session", "idle-delay")
    case .mate: DconfKey("org.mate.session", "idle-delay")
    }
  }

  private var defaultDelay: Int {
    switch kind {
    case .gnome: 300
    case .cinnamon: 900
    case .mate: 5
    }
  }

  private var unit: String { kind == .mate ? "min" : "s" }

  private func locker(_ system: System) -> Locker {
    switch kind {
    case .gnome where desktop == .budgie:
      Locker.budgieScreensaver.isInstalled(system) ? .budgieScreensaver : .gnomeScreensaver
    case .gnome: .gnome
    case .cinnamon: .cinnamon
    case .mate: .mate
    }
  }
}
