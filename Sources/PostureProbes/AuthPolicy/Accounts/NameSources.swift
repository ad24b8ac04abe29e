/// nsswitch.conf(5): where accounts, passwords and groups come from.
struct NameSources: Sendable {
  private(set) var passwd = ["files"]
  private(set) var shadow = ["files"]
  private(set) var group = ["files"]
  private(set) var sudoers = ["files"]
  private(set) var netgroup = ["files"]

  init() {}

  init(_ system: System) {
    let paths = ["/etc/nsswitch.conf", "/usr/etc/nsswitch.conf", "/usr/share/nsswitch.conf"]
    guard let path = paths.first(where: system.exists), let text = system.text(path) else { return }
    for line in text.lines() {
      let content = line.prefix { $0 != "#" }
      guard let colon = content.firstIndex(of: ":") else { continue }
      set(content[..<colon].filter { !$0.isWhitespace }, Self.sources(content[content.index(after: colon)...]))
    }
    // Without a line of its own, shadow follows passwd's default.
  }

  private mutating func set(_ database: String, _ sources: [String]) {
    guard !sources.isEmpty else { return }
    switch database {
    case "passwd": passwd = sources
    case "shadow": shadow = sources
    case "group": group = sources
    case "sudoers": sudoers = sources
    case "netgroup": netgroup = sources
    default: break
    }
  }

  /// The names, without the actions in brackets.
  private static func sources(_ text: Substring) -> [String] {
    var names: [String] = []
    var isAction = false
    for word in text.words() {
      if word.hasPrefix("[") { isAction = true }
      if !isAction { names.append(String(word)) }
      if word.ends(with: "]") { isAction = false }
    }
    return names
  }

  /// The rows of /etc/passwd count.
  var usesFiles: Bool { passwd.contains { ["files", "compat", "db"].contains($0) } }
  var usesCompat: Bool { passwd.contains("compat") }

  /// Sources whose people are on this disk, or that have none.
  private static let local: Set<String> = [
    "files", "compat", "db", "systemd", "extrausers", "altfiles", "mymachines", "cache", "lwres", "usrfiles",
  ]

  /// sss stands in stock configurations that have no sssd: it needs a configuration. Where its folder may not be looked
  /// into there may be one.
  static func hasSSSD(_ system: System) -> Bool { (try? configuresSSSD(system)) ?? true }

  static func configuresSSSD(_ system: System) throws(System.Unreadable) -> Bool {
    for path in ["/etc/sssd/sssd.conf", "/usr/etc/sssd/sssd.conf"] {
      do throws(System.Unreadable) {
        _ = try system.status(path)
        return true
      } catch { if error == .denied { throw error } }
    }
    do throws(System.Unreadable) {
      return try system.list("/etc/sssd/conf.d").contains { $0.ends(with: ".conf") }
    } catch {
      if error == .denied { throw error }
      return false
    }
  }

  /// Sources of people that cannot be read here: sss, ldap, winbind …
  var external: [String] { passwd.filter { !Self.local.contains($0) } }
}
