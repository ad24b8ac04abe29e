import TestKit

/// Random sudoers(5) files for comparison with the real tools.
struct RandomSudoers {
  private var random: SplitMix
  private let hosts: [String]
  /// Runas lists without anybody, which `sudo -l -U` takes for the one who asks.
  private let withSelf: Bool

  init(seed: UInt64, hostName: String, withSelf: Bool = true) {
    self.withSelf = withSelf
    random = SplitMix(seed)
    hosts = ["ALL", "ALL", "ALL", hostName, "other1", String(hostName.prefix(2)) + "*", "HOSTS"]
  }

  private mutating func pick<T>(_ items: [T]) -> T { items[Int.random(in: 0..<items.count, using: &random)] }
  private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
  private mutating func list(_ item: (inout Self) -> String) -> String {
    (0..<Int.random(in: 1...3, using: &random)).map { _ in (chance(15) ? "!" : "") + item(&self) }
      .joined(separator: pick([", ", ",", " , "]))
  }

  private static let users = [
    "pta", "ptb", "ALL", "%ptg", "%pth", "#61001", "%#61011", "root", "ADMINS", "\"pta\"", "nobody-there",
    "%nogroup-there",
  ]
  private static let commands = [
    "/usr/bin/id", "/usr/bin/true", "/usr/bin/env", "ALL", "ALL", "/usr/bin/*", "/usr/bin/t*", "TOOLS", "/usr/bin/",
    "/usr/bin/id -u", "/usr/bin/true \"\"", "/usr/sbin/nologin",
  ]

  private mutating func user() -> String { pick(Self.users) }
  private mutating func host() -> String { pick(hosts) }
  private mutating func command() -> String { pick(Self.commands) }

  private mutating func runas() -> String {
    switch Int.random(in: 0..<9, using: &random) {
    case 0: "(root) "
    case 1: "(ptb) "
    case 2: "(ALL, !root) "
    case 3: "(:ptg) "
    case 4: "(ALL : ALL) "
    case 5: "(RUN) "
    case 6: withSelf ? "()" : "(ALL) "
    default: "(ALL) "
    }
  }

  private static let tags = [
    "NOPASSWD: ", "PASSWD:", "NOPASSWD : ", "SETENV: ", "NOSETENV: ", "NOEXEC: ", "EXEC: NOPASSWD: ",
  ]

  private mutating func grants() -> String {
    (0..<Int.random(in: 1...4, using: &random)).map { _ in
      (chance(40) ? runas() : "") + (chance(50) ? pick(Self.tags) : "") + (chance(12) ? "!" : "") + command()
    }.joined(separator: chance(10) ? ", \\\n  " : ", ")
  }

  private mutating func rule() -> String {
    let more = chance(15) ? " : " + list { $0.host() } + " = " + grants() : ""
    return list { $0.user() } + pick([" ", "\t"]) + list { $0.host() } + pick([" = ", "=", "= "]) + grants() + more
      + (chance(10) ? " # why" : "")
  }

  private mutating func setting() -> String {
    let scope = pick(["", "", "", ":pta", ":%ptg", "@" + host(), ">root", ">ptb", "!/usr/bin/id", "!TOOLS", ":ADMINS"])
    let value = pick([
      "!authenticate", "authenticate", "rootpw", "!rootpw", "targetpw", "env_reset", "exempt_group=ptg",
      "exempt_group = pth",
      "timestamp_timeout=-1", "secure_path=\"/usr/bin:/bin\"", "env_keep += \"A B\"", "!lecture, !authenticate",
      "runas_default=root", "fqdn", "!fqdn", "setenv",
    ])
    return "Defaults\(scope) \(value)"
  }

  private mutating func broken() -> String {
    pick([
      "pta ALL", "pta ALL=(ALL NOPASSWD: ALL", "ALL = ALL", "Defaults", "pta ALL=NOPASSWD:", "User_Alias x = y",
      "pta, ALL=",
    ])
  }

  /// A file of sudoers.d.
  mutating func rules() -> String {
    (0..<Int.random(in: 0...2, using: &random)).map { _ in rule() + "\n" }.joined()
  }

  mutating func text(withErrors: Bool) -> String {
    var lines = [
      "User_Alias ADMINS = pta, !ptb", "Host_Alias HOSTS = " + pick(["ALL", "other1", "!other1, ALL"]),
      "Cmnd_Alias TOOLS = /usr/bin/env, /usr/bin/true", "Runas_Alias RUN = " + pick(["root", "ptb", "ALL, !ptb"]),
    ]
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      switch Int.random(in: 0..<10, using: &random) {
      case 0: lines.append("# a comment" + (chance(50) ? " \\" : ""))
      case 1: lines.append("")
      case 2...3: lines.append(setting())
      case 4 where withErrors: lines.append(broken())
      default: lines.append(rule())
      }
    }
    // Aliases may stand anywhere.
    if chance(50) { lines.shuffle(using: &random) }
    return lines.joined(separator: "\n") + "\n"
  }
}
