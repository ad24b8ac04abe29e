import Posture

/// postmarketOS's tinydm: autologin(1) starts one person's session, whom nobody asks (tinydm.initd).
struct TinyDM {
  private let context: AuthContext
  private static let path = "/etc/conf.d/tinydm"

  init(_ context: AuthContext) { self.context = context }

  var setup: DisplayManagerSetup {
    // Only its script reads the file.
    guard context.startup.kind != .systemd else {
      return DisplayManagerSetup(fault: Cause("notModelled", observed: "tinydm started by a unit"))
    }
    let said = VariableFile.value("AUTOLOGIN_UID", in: Self.path, context.system)
    let name = said?.text ?? "1000"
    guard let account = context.accounts.named(name) else { return DisplayManagerSetup() }
    let login = AutomaticLogin(
      user: account.name, place: said?.place ?? Place(Self.path), starter: .program("/usr/bin/autologin"),
      oncePerBoot: false, note: "automatic login", observed: "AUTOLOGIN_UID=\(name)")
    return DisplayManagerSetup(automatic: [login])
  }
}
