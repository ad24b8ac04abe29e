import Posture

/// SLiM (slim.conf(5)).
struct Slim {
  private let system: System
  private static let path = "/etc/slim.conf"

  init(_ system: System) { self.system = system }

  var setup: DisplayManagerSetup {
    var setup = DisplayManagerSetup(services: ["slim"])
    guard option("auto_login")?.value == "yes", let user = option("default_user") else { return setup }
    setup.automatic = [
      AutomaticLogin(
        user: user.value, place: user.place, service: nil, oncePerBoot: true, note: "automatic login once per boot",
        observed: "auto_login yes, default_user \(user.value)")
    ]
    return setup
  }

  /// `name value`, the last one counts.
  private func option(_ name: String) -> (value: String, place: Place)? {
    for line in LogicalLines(system.text(Self.path) ?? "", comments: ["#"]).reversed() {
      let words = line.text.split { $0 == " " || $0 == "\t" }
      guard words.count > 1, words[0] == name else { continue }
      return (words.dropFirst().joined(separator: " "), Place(Self.path, line: line.number))
    }
    return nil
  }
}
