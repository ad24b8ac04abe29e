import Posture

/// SDDM (src/common/ConfigReader.cpp, src/daemon/Display.cpp).
struct SDDM {
  private let system: System

  init(_ context: AuthContext) { system = context.system }

  struct Value: Hashable {
    var section: String
    var key: String
    var text: String
    var place: Place
  }

  var setup: DisplayManagerSetup {
    var setup = DisplayManagerSetup(services: ["sddm"])
    if let login = automatic { setup.automatic = [login] }
    return setup
  }

  /// Every regular file of the two directories, hidden ones apart, then the single file, which wins.
  private var values: [Value] {
    var paths: [String] = []
    for folder in ["/usr/lib/sddm/sddm.conf.d", "/usr/local/lib/sddm/sddm.conf.d", "/etc/sddm.conf.d"] {
      for name in (try? system.list(folder)) ?? [] where !name.hasPrefix(".") { paths.append("\(folder)/\(name)") }
    }
    return (paths + ["/etc/sddm.conf"]).flatMap { Self.parse(system.text($0) ?? "", path: $0) }
  }

  /// `#` ends a line anywhere.
  static func parse(_ text: String, path: String) -> [Value] {
    var section = ""
    var values: [Value] = []
    for (index, raw) in text.lines(keepsEmpty: true).enumerated() {
      let line = raw.prefix { $0 != "#" }.trimmed
      if line.hasPrefix("["), line.ends(with: "]") {
        section = String(line.dropFirst().dropLast())
      } else if let equals = line.firstIndex(of: "=") {
        values.append(
          Value(
            section: section, key: line[..<equals].trimmed, text: line[line.index(after: equals)...].trimmed,
            place: Place(path, line: index + 1)))
      }
    }
    return values
  }

  private var automatic: AutomaticLogin? {
    let values = values
    let get = { key in values.last { $0.section == "Autologin" && $0.key == key } }
    guard let user = get("User"), !user.text.isEmpty else { return nil }
    guard hasSession(get("Session")?.text ?? "", values) else { return nil }
    let again = get("Relogin")?.text.lowercased() == "true"
    return AutomaticLogin(
      user: user.text, place: user.place, service: "sddm-autologin", oncePerBoot: !again,
      note: again ? "automatic login after each logout" : "automatic login once per boot",
      observed: "[Autologin] User=\(user.text)")
  }

  /// The session must be there; without a name the last one that was used.
  private func hasSession(_ name: String, _ values: [Value]) -> Bool {
    let last = Self.parse(system.text("/var/lib/sddm/state.conf") ?? "", path: "").last {
      $0.section == "Last" && $0.key == "Session"
    }
    let session = name.isEmpty ? last?.text ?? "" : name
    guard !session.isEmpty else { return false }
    let file = session.ends(with: ".desktop") ? session : session + ".desktop"
    return Self.folders(values).contains { folder in
      // A whole path has to lie right in one of them.
      guard file.hasPrefix("/") else { return system.exists("\(folder)/\(file)") }
      return file == "\(folder)/\(Programs.base(file))" && system.exists(file)
    }
  }

  private static let kinds: [(sections: [String], name: String)] = [
    (["Wayland", "WaylandDisplay"], "wayland-sessions"), (["X11", "XDisplay"], "xsessions"),
  ]

  /// Where sessions are looked for: of either kind what was said last takes the place of the usual directories.
  private static func folders(_ values: [Value]) -> [String] {
    kinds.flatMap { kind in
      let said = values.last { kind.sections.contains($0.section) && $0.key == "SessionDir" }
      return said.map { $0.text.split(separator: ",").map(\.trimmed) }
        ?? SessionFiles.folders.filter { $0.ends(with: kind.name) }
    }
  }
}
