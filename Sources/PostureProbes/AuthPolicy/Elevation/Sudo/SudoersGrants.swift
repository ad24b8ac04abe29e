/// The list of commands of one rule, with the tags and options that carry on from one to the next.
enum SudoersGrants {
  private struct Carried {
    var runas: (users: [Sudoers.Item]?, groups: [Sudoers.Item]?) = (nil, nil)
    var asksPassword: Bool?
    var setsEnvironment: Bool?
    var notBefore: String?
    var notAfter: String?
  }

  static func read(_ scanner: inout SudoersScanner) throws(SudoersSyntaxError) -> [Sudoers.Grant] {
    var carried = Carried()
    var grants: [Sudoers.Grant] = []
    repeat {
      scanner.skipBlanks()
      if let runas = try runas(&scanner) { carried.runas = runas }
      try options(&scanner, &carried)
      try tags(&scanner, &carried)
      let isNegated = scanner.negation()
      let command = Sudoers.Item(name: try scanner.command(), isNegated: isNegated)
      grants.append(
        Sudoers.Grant(
          command: command, runasUsers: carried.runas.users, runasGroups: carried.runas.groups,
          asksPassword: carried.asksPassword, setsEnvironment: carried.setsEnvironment,
          notBefore: carried.notBefore, notAfter: carried.notAfter))
    } while scanner.takeSpaced(",")
    return grants
  }

  /// `(users : groups)`; no users and no groups at all means the user himself, which is written as an empty name.
  private static func runas(
    _ scanner: inout SudoersScanner
  ) throws(SudoersSyntaxError) -> (users: [Sudoers.Item]?, groups: [Sudoers.Item]?)? {
    guard scanner.takeSpaced("(") else { return nil }
    if scanner.takeSpaced(")") { return ([Sudoers.Item(name: .user(""))], nil) }
    var users: [Sudoers.Item]?
    var groups: [Sudoers.Item]?
    if scanner.byte != UInt8(ascii: ":") {
      users = try SudoersParser.list(&scanner) { (s) throws(SudoersSyntaxError) in try s.user() }
    }
    if scanner.takeSpaced(":"), scanner.byte != UInt8(ascii: ")") {
      groups = try SudoersParser.list(&scanner) { (s) throws(SudoersSyntaxError) in try s.group() }
    }
    try scanner.expect(")")
    if users == nil, groups == nil { users = [Sudoers.Item(name: .user(""))] }
    return (users, groups)
  }

  private static let optionNames: Set = [
    "CWD", "CHROOT", "TIMEOUT", "NOTBEFORE", "NOTAFTER", "ROLE", "TYPE", "APPARMOR_PROFILE", "PRIVS", "LIMITPRIVS",
  ]

  private static func options(
    _ scanner: inout SudoersScanner, _ carried: inout Carried
  ) throws(SudoersSyntaxError) {
    while true {
      scanner.skipBlanks()
      let name = scanner.upperWord()
      guard optionNames.contains(name) else { return }
      scanner.skip(name.utf8.count)
      try scanner.expect("=")
      let value = try scanner.word(until: ",#")
      if name == "NOTBEFORE" { carried.notBefore = value }
      if name == "NOTAFTER" { carried.notAfter = value }
    }
  }

  private static let tagNames: Set = [
    "PASSWD", "NOPASSWD", "EXEC", "NOEXEC", "SETENV", "NOSETENV", "LOG_INPUT", "NOLOG_INPUT", "LOG_OUTPUT",
    "NOLOG_OUTPUT", "MAIL", "NOMAIL", "FOLLOW", "NOFOLLOW", "INTERCEPT", "NOINTERCEPT",
  ]

  private static func tags(
    _ scanner: inout SudoersScanner, _ carried: inout Carried
  ) throws(SudoersSyntaxError) {
    while true {
      scanner.skipBlanks()
      let name = scanner.upperWord()
      let start = scanner
      scanner.skip(name.utf8.count)
      // Without its colon the word is the name of an alias.
      guard tagNames.contains(name), scanner.takeSpaced(":") else {
        scanner = start
        return
      }
      if name == "PASSWD" { carried.asksPassword = true }
      if name == "NOPASSWD" { carried.asksPassword = false }
      if name == "SETENV" { carried.setsEnvironment = true }
      if name == "NOSETENV" { carried.setsEnvironment = false }
    }
  }
}
