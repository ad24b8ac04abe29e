/// nsswitch.conf(5): where accounts, passwords and groups come from.
struct NameSources: Sendable {
  private(set) var passwd = ["files"]
  private(set) var shadow = ["files"]
  private(set) var group = ["files"]
  private(set) var sudoers = ["files"]
  private(set) var netgroup = ["files"]
  /// Where the `+` rows of compat bring people in from.
  private(set) var passwdCompat = ["nis"]

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

  private mutating func set(_ database: String, _ words: [String]) {
    let sources = words.filter { !$0.hasPrefix("[") }
    guard !sources.isEmpty else { return }
    switch database {
    case "passwd": passwd = Self.asked(words)
    case "passwd_compat": passwdCompat = Self.asked(words)
    case "shadow": shadow = Self.asked(words)
    case "group": group = sources
    case "sudoers": sudoers = sources
    case "netgroup": netgroup = sources
    default: break
    }
  }

  /// The names, and each action that stands in brackets, behind a bracket.
  private static func sources(_ text: Substring) -> [String] {
    var words: [String] = []
    var isAction = false
    for word in text.words() {
      if word.hasPrefix("[") { isAction = true }
      words.append(isAction ? "[" + word.filter { $0 != "[" && $0 != "]" } : String(word))
      if word.ends(with: "]") { isAction = false }
    }
    return words
  }

  /// The names as far as somebody is looked for who is in none of them: a file that is there can say no more than that,
  /// and an action may make that the end. Whether a service is there to say it cannot be seen.
  private static func asked(_ words: [String]) -> [String] {
    var names: [String] = []
    for word in words {
      if !word.hasPrefix("[") {
        names.append(word)
      } else if isEnd(word), names.last.map(files.contains) ?? false {
        break
      }
    }
    return names
  }

  private static let files: Set<String> = ["files", "compat", "db"]

  /// `[NOTFOUND=return`, or all but another status.
  private static func isEnd(_ action: String) -> Bool {
    let parts = ASCII.lowercased(action).dropFirst().split(separator: "=")
    guard parts.count == 2, parts[1] == "return" else { return false }
    return parts[0] == "notfound" || (parts[0].hasPrefix("!") && parts[0] != "!notfound")
  }

  /// The rows of /etc/passwd count.
  var usesFiles: Bool { passwd.contains(where: Self.files.contains) }
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
  /// The same for those whom rows of compat bring in.
  var externalCompat: [String] { passwdCompat.filter { !Self.local.contains($0) } }
}
