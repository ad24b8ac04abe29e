import Posture

/// LXDM (src/lxdm.c).
struct LXDM {
  private let system: System

  init(_ context: AuthContext) { system = context.system }

  var setup: DisplayManagerSetup {
    var setup = DisplayManagerSetup(services: ["lxdm"])
    let path = ["/etc/lxdm/lxdm.conf", "/etc/lxdm/default.conf"].first(where: system.exists)
    guard let path, let text = system.text(path), let file = try? GLibKeyFile(text),
      let user = file.entry("base", "autologin"), !user.value.isEmpty
    else { return setup }
    setup.automatic = [
      AutomaticLogin(
        user: user.value, place: Place(path, line: user.line), service: nil, oncePerBoot: true,
        note: "automatic login once per boot", observed: "autologin=\(user.value)")
    ]
    return setup
  }
}
