import Posture

/// OpenEmbedded's X server without a display manager: one user's session, whom nobody asks (xserver-nodm-init).
struct XServerNodm {
  static let script = "/etc/init.d/xserver-nodm"
  private static let unit = "xserver-nodm.service"
  /// The user's name; without the file it is root.
  private static let userFile = "/etc/X11/Xusername"
  private let context: AuthContext

  init(_ context: AuthContext) { self.context = context }

  var setup: DisplayManagerSetup {
    guard let login = context.startup.usesUnits ? byUnit : byScript else {
      return DisplayManagerSetup(fault: Cause("notModelled", observed: "the user of xserver-nodm"))
    }
    return DisplayManagerSetup(automatic: [login])
  }

  private var byUnit: AutomaticLogin? {
    guard let unit = context.startup.units.unit(Self.unit), let fragment = unit.fragment else { return nil }
    let user = unit.last("User")
    let service = unit.last("PAMName")?.value
    return login(user?.value ?? "root", user?.place ?? Place(fragment), .unit(service: service))
  }

  private var byScript: AutomaticLogin? {
    guard let text = context.system.text(Self.script), text.range(ofText: Self.userFile) != nil else { return nil }
    let user = context.system.text(Self.userFile)?.words().first.map(String.init)
    let place = user == nil ? Place(Self.script) : Place(Self.userFile, line: 1)
    return login(user ?? "root", place, .program("/bin/su"))
  }

  private func login(_ user: String, _ place: Place, _ starter: AutomaticLogin.Starter) -> AutomaticLogin {
    AutomaticLogin(
      user: context.accounts.named(user)?.name ?? user, place: place, starter: starter, oncePerBoot: false,
      note: "automatic login", observed: "xserver-nodm for \(user)")
  }
}
