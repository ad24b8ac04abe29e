/// Which family of distributions the examined system belongs to (os-release(5)).
struct Distribution: Sendable {
  let id: String
  let like: [String]
  /// `12` of VERSION_ID="12", `24` of 24.04; nil where it is not said.
  let release: String?

  init(_ system: System) {
    let text = system.text("/etc/os-release") ?? system.text("/usr/lib/os-release") ?? ""
    var values: [String: String] = [:]
    for line in text.lines() {
      guard let equals = line.firstIndex(of: "="), !line.hasPrefix("#") else { continue }
      let value = line[line.index(after: equals)...].trimmed.filter { $0 != "\"" && $0 != "'" }
      values[String(line[..<equals])] = value.lowercased()
    }
    id = values["ID"] ?? "linux"
    release = values["VERSION_ID"]?.split(separator: ".").first.map(String.init)
    like = values["ID_LIKE"]?.split(separator: " ").map(String.init) ?? []
  }

  /// Debian or something made of it.
  var isDebian: Bool { Self.debians.contains(id) || like.contains("debian") || like.contains("ubuntu") }

  /// Those that do not always say what they are like.
  private static let debians: Set = ["debian", "ubuntu", "raspbian", "linuxmint", "devuan", "armbian"]
}
