import Posture

/// nodm(8): one person's session, without any question and again after each end.
struct Nodm {
  private let system: System
  private static let paths = ["/etc/default/nodm", "/etc/nodm.conf"]

  init(_ system: System) { self.system = system }

  var setup: DisplayManagerSetup {
    let user = value("NODM_USER")
    let name = user?.text ?? "root"
    // It asks nobody; its service has to let them in as they are.
    let login = AutomaticLogin(
      user: name, place: user?.place ?? Place(Self.paths[0]), service: "nodm", oncePerBoot: false,
      note: "automatic login", observed: "NODM_USER=\(name)")
    return DisplayManagerSetup(automatic: [login])
  }

  var isSwitchedOff: Bool { ["false", "no"].contains(value("NODM_ENABLED")?.text) }

  private func value(_ name: String) -> (text: String, place: Place)? {
    Self.paths.lazy.compactMap { VariableFile.value(name, in: $0, system) }.first
  }
}
