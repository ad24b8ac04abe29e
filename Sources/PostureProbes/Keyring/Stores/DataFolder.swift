/// Where programs of one person keep their data: $XDG_DATA_HOME (XDG Base Directory Specification), by default
/// ~/.local/share.
enum DataFolder {
  private static let name = "XDG_DATA_HOME"
  private static let mostFiles = 32

  /// Below the home; another place than that is not one of this person's alone.
  static func of(_ home: Home) -> String {
    guard let value = texts(home).lazy.compactMap(value).first else { return ".local/share" }
    var path = value.filter { $0 != "\"" && $0 != "'" }[...]
    let base = home.person.home
    guard let start = ["$HOME/", "${HOME}/", "@{HOME}/", "~/", "\(base)/"].first(where: path.hasPrefix) else {
      return ".local/share"
    }
    path = path.dropFirst(start.count)
    while path.ends(with: "/") { path = path.dropLast() }
    return path.isEmpty || path.split(separator: "/").contains("..") ? ".local/share" : String(path)
  }

  /// The strongest first: environment.d(5) of the person, pam_env's file of theirs, then the machine's.
  private static func texts(_ home: Home) -> [String] {
    let folder = ".config/environment.d"
    let own = ((try? home.list(folder)) ?? []).filter { $0.ends(with: ".conf") }.prefix(mostFiles).reversed()
      .map { "\(folder)/\($0)" }
    let personal = (own + [".pam_environment"]).compactMap { (try? home.read($0, cap: 64 << 10))?.text }
    return personal + [home.system.text("/etc/environment")].compactMap { $0 }
  }

  /// `NAME=value`, or pam_env's `NAME DEFAULT=value`; the last one counts.
  private static func value(_ text: String) -> String? {
    guard text.contains(name) else { return nil }
    return text.lines().compactMap { line -> String? in
      let line = line.trimmed
      guard line.hasPrefix(name) else { return nil }
      let rest = line.dropFirst(name.utf8.count).trimmed
      let mark = ["=", "DEFAULT=", "OVERRIDE="].first(where: rest.hasPrefix)
      return mark.map { rest.dropFirst($0.count).trimmed }
    }.last
  }
}
