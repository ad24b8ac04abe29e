import Posture

/// LightDM (common/configuration.c, src/seat.c).
struct LightDM {
  private let system: System

  init(_ context: AuthContext) { system = context.system }

  /// Weakest first; the single file last.
  private static let folders = [
    "/usr/share/lightdm/lightdm.conf.d", "/usr/local/share/lightdm/lightdm.conf.d", "/etc/xdg/lightdm/lightdm.conf.d",
    "/etc/lightdm/lightdm.conf.d",
  ]

  private struct Value: Hashable {
    var section: String
    var key: String
    var text: String
    var place: Place
  }

  var setup: DisplayManagerSetup {
    var setup = DisplayManagerSetup()
    let values: [Value]
    do throws(Fault) { values = try self.values } catch {
      return DisplayManagerSetup(fault: error.cause)
    }
    let seats = Self.seats(values)
    let script = guestScript(values)
    setup.overNetwork = overNetwork(values)
    setup.services = Array(Set(seats.map { Self.value("pam-service", $0, values)?.text ?? "lightdm" })).sorted()
    for seat in seats {
      if let login = Self.automatic(seat, values), !setup.automatic.contains(login) { setup.automatic.append(login) }
      if let script { setup.guest = setup.guest ?? Self.guest(seat, values, script) }
    }
    return setup
  }

  private struct Fault: Error { var cause: Cause }

  private var values: [Value] {
    get throws(Fault) {
      var paths: [String] = []
      for folder in Self.folders {
        for name in (try? system.list(folder)) ?? [] where name.ends(with: ".conf") {
          paths.append("\(folder)/\(name)")
        }
      }
      var values: [Value] = []
      for path in paths + ["/etc/lightdm/lightdm.conf"] { values += try read(path) }
      return values
    }
  }

  private func read(_ path: String) throws(Fault) -> [Value] {
    let text: String
    do throws(System.Unreadable) { text = try system.read(path).text } catch {
      if error == .missing { return [] }
      throw Fault(cause: Cause("unreadable", observed: "\(path) \(error.words)", evidence: [Place(path)]))
    }
    do throws(GLibKeyFile.Malformed) {
      return try GLibKeyFile(text).entries.map {
        Value(section: $0.group, key: $0.key, text: $0.value, place: Place(path, line: $0.line))
      }
    } catch {
      throw Fault(
        cause: Cause(
          "displayManagerBroken", observed: "\(path) is no key file", evidence: [Place(path, line: error.line)]))
    }
  }

  /// The local seat, and every seat that a section names.
  private static func seats(_ values: [Value]) -> [String] {
    let named = values.compactMap { value -> String? in
      guard value.section.hasPrefix("Seat:"), !value.section.contains("*"), !value.section.contains("?") else {
        return nil
      }
      return String(value.section.dropFirst(5))
    }
    return ["seat0"] + Set(named).subtracting(["seat0"]).sorted()
  }

  /// `[Seat:*]` (and its old name) first, then the sections whose pattern matches, in the order in which the files have
  /// first named them.
  private static func value(_ key: String, _ seat: String, _ values: [Value]) -> Value? {
    let all = values.last { $0.key == key && ($0.section == "Seat:*" || $0.section == "SeatDefaults") }
    var found: [(section: String, value: Value?)] = []
    for value in values where value.section.hasPrefix("Seat:") && value.section != "Seat:*" {
      guard Glob.matches(seat, String(value.section.dropFirst(5))) else { continue }
      let index = found.firstIndex { $0.section == value.section } ?? found.count
      if index == found.count { found.append((value.section, nil)) }
      if value.key == key { found[index].value = value }
    }
    return found.last { $0.value != nil }?.value ?? all
  }

  private static func automatic(_ seat: String, _ values: [Value]) -> AutomaticLogin? {
    guard let user = value("autologin-user", seat, values), !user.text.isEmpty else { return nil }
    let delay = value("autologin-user-timeout", seat, values).flatMap { Int($0.text) } ?? 0
    let service = value("pam-autologin-service", seat, values)?.text ?? "lightdm-autologin"
    return AutomaticLogin(
      user: user.text, place: user.place, service: service, oncePerBoot: delay <= 0,
      note: delay > 0 ? "automatic login after \(delay) s" : "automatic login once per boot",
      observed: "autologin-user=\(user.text)")
  }

  /// Where the guest session is turned on; guests are allowed unless something says otherwise.
  private static func guest(_ seat: String, _ values: [Value], _ script: Place) -> Place? {
    if let automatic = value("autologin-guest", seat, values), automatic.text == "true" { return automatic.place }
    let allowed = value("allow-guest", seat, values)
    return allowed?.text == "false" ? nil : allowed?.place ?? script
  }

  /// The VNC server is Xvnc's business, and is not started without it.
  private func overNetwork(_ values: [Value]) -> [(service: String, place: Place)] {
    [("xdmcp", "XDMCPServer"), ("vnc", "VNCServer")].compactMap { service, section in
      guard let value = values.last(where: { $0.section == section && $0.key == "enabled" }), value.text == "true",
        service != "vnc" || Programs.has("Xvnc", system)
      else { return nil }
      return (service, value.place)
    }
  }

  /// The script that makes the guest's account: without it there is no guest session, whatever else is said.
  private func guestScript(_ values: [Value]) -> Place? {
    let named = values.last { $0.section == "LightDM" && $0.key == "guest-account-script" }
    let script = named?.text ?? "guest-account"
    let paths =
      script.hasPrefix("/")
      ? [script] : ["/usr/sbin/\(script)", "/usr/local/sbin/\(script)", "/usr/lib/lightdm/\(script)"]
    return paths.first(where: system.exists).map { named?.place ?? Place($0) }
  }
}
