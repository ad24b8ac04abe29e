/// Which family of distributions the examined system belongs to (os-release(5)).
struct Distribution: Sendable {
  let id: String
  let like: [String]
  /// `12` of VERSION_ID="12", `24` of 24.04; nil where it is not said.
  let release: String?
  private let system: System

  /// That of the examined system, read once in an examination.
  static func of(_ system: System) -> Distribution { system.shared { Distribution(system) } }

  init(_ system: System) {
    self.system = system
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
  var isDebian: Bool {
    if Self.debians.contains(id) || like.contains("debian") || like.contains("ubuntu") { return true }
    return like.isEmpty && hasDebiansMark
  }

  /// Those that do not always say what they are like.
  private static let debians: Set = [
    "debian", "ubuntu", "ubuntu-core", "raspbian", "linuxmint", "devuan", "armbian", "deepin", "uos",
  ]

  /// Others tell by what is installed; dpkg itself is there on other systems too, as a tool.
  private var hasDebiansMark: Bool {
    system.exists("/etc/debian_version") || (id == "linux" && system.exists("/var/lib/dpkg/status"))
      || PackageDatabase.of(system).hasDebiansPAM
  }
}
