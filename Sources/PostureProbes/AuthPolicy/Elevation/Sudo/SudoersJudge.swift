import Posture

/// Who may run what as root by sudoers(5), and whether that asks for a password: the last rule that matches decides.
struct SudoersJudge: Sendable {
  /// A person with a row in passwd, or anybody from a directory.
  enum Person: Sendable {
    case account(Account)
    case external

    var account: Account? {
      if case .account(let account) = self { account } else { nil }
    }
  }

  /// What is to be run.
  enum Command: Hashable, Sendable {
    /// Any program at all: only ALL grants it.
    case any
    /// Path with its arguments, as a rule writes it.
    case named(String)
  }

  struct Decision: Sendable {
    var isAllowed: Bool
    var asksPassword: Bool
    /// Whose password: nil for the person's own.
    var whose: Door.Holder?
    var rule: Sudoers.Rule?
    /// `sudo.rule`, `sudo.nopasswd`, `sudo.authenticateOff`, `sudo.exemptGroup`, `sudo.denied`, `sudo.noRule`.
    var reason: Reason
    var service: String
    var loginService: String?
    /// The person may set variables, LD_PRELOAD among them.
    var setsEnvironment = false
    /// The rule names this person or a group, not just everybody.
    var isPersonal = false
  }

  let sudoers: Sudoers
  let accounts: Accounts
  let groups: GroupNumbers
  let host: HostName
  /// YYYYMMDDHHMMSSZ.
  let now: String
  let main: Place
  /// What a membership that cannot be told is taken for.
  var assumption = false

  func decide(_ command: Command, for person: Person) -> Decision {
    let flags = flags(command, person)
    guard let (rule, grant) = match(command, person) else {
      return decision(false, flags, nil, Reason("sudo.noRule", main))
    }
    guard !grant.command.isNegated else { return decision(false, flags, rule, Reason("sudo.denied", rule.place)) }
    var result = decision(true, flags, rule, Reason("sudo.rule", rule.place))
    result.setsEnvironment = grant.setsEnvironment ?? flags["setenv"]?.isOn ?? false
    result.isPersonal = rule.users.contains { $0.name != .all && matches($0.name, person) }
    if grant.asksPassword == false {
      result.asksPassword = false
      result.reason = Reason("sudo.nopasswd", rule.place)
    } else if grant.asksPassword == nil, let off = flags["authenticate"], !off.isOn {
      result.asksPassword = false
      result.reason = Reason("sudo.authenticateOff", off.place)
    } else if let exempt = flags["exempt_group"], exempt.isOn, let name = exempt.value, isMember(person, name) {
      result.asksPassword = false
      result.reason = Reason("sudo.exemptGroup", exempt.place)
    }
    return result
  }

  private func decision(
    _ isAllowed: Bool, _ flags: [String: Sudoers.Setting], _ rule: Sudoers.Rule?, _ reason: Reason
  ) -> Decision {
    Decision(
      isAllowed: isAllowed, asksPassword: true, whose: whose(flags), rule: rule, reason: reason,
      service: flags["pam_service"]?.value ?? "sudo", loginService: flags["pam_login_service"]?.value)
  }

  /// rootpw, runaspw and targetpw all come to root's here: root is whom the command runs as.
  private func whose(_ flags: [String: Sudoers.Setting]) -> Door.Holder? {
    ["rootpw", "runaspw", "targetpw"].contains { flags[$0]?.isOn == true } ? .root : nil
  }

  /// Commands that the rules for this person name one by one.
  func namedCommands(for person: Person) -> [String] {
    var names: [String] = []
    var seen = Set<String>()
    for rule in sudoers.rules where isInForce(rule, person) {
      for grant in rule.grants where runsAsRoot(grant, person) {
        if case .command(let text) = grant.command.name, text != "list", seen.insert(text).inserted {
          names.append(text)
        }
      }
    }
    return names
  }

  // MARK: Rules

  private func match(_ command: Command, _ person: Person) -> (Sudoers.Rule, Sudoers.Grant)? {
    for rule in sudoers.rules.reversed() where isInForce(rule, person) {
      for grant in rule.grants.reversed()
      where covers(grant.command.name, command) && isInTime(grant) && runsAsRoot(grant, person) {
        return (rule, grant)
      }
    }
    return nil
  }

  private func isInForce(_ rule: Sudoers.Rule, _ person: Person) -> Bool {
    last(rule.users) { matches($0, person) } == true && last(rule.hosts, isThisHost) == true
  }

  /// The last item that matches decides; nil where none does.
  private func last(_ items: [Sudoers.Item], _ matches: (Sudoers.Name) -> Bool) -> Bool? {
    items.last { matches($0.name) }.map { !$0.isNegated }
  }

  /// NOTBEFORE and NOTAFTER in UTC; a time with another offset counts as in force.
  private func isInTime(_ grant: Sudoers.Grant) -> Bool {
    func padded(_ time: String?) -> String? {
      guard let time, time.ends(with: "Z"), time.dropLast().allSatisfy(\.isNumber), time.count >= 11 else { return nil }
      return String((time.dropLast() + "0000").prefix(14)) + "Z"
    }
    if let start = padded(grant.notBefore), now < start { return false }
    if let end = padded(grant.notAfter), now > end { return false }
    return true
  }

  private func runsAsRoot(_ grant: Sudoers.Grant, _ person: Person) -> Bool {
    if let users = grant.runasUsers { return last(users, isRoot) == true }
    guard grant.runasGroups == nil else { return false }
    // Nobody named: the default run-as user.
    let flag = value("runas_default", .any, person)
    return flag?.value.map { $0 == "root" || $0 == "#0" } ?? true
  }

  private func isRoot(_ name: Sudoers.Name) -> Bool {
    switch name {
    case .all, .uid(0), .user("root"), .gid(0), .group("root"): true
    case .group(let group): accounts["root"]?.isMember(of: group) ?? false
    default: false
    }
  }

  // MARK: People and hosts

  private func matches(_ name: Sudoers.Name, _ person: Person) -> Bool {
    switch (name, person) {
    case (.all, _): true
    case (.user(let text), .account(let account)): text == account.name
    case (.user(let text), .external): accounts[text] == nil
    case (.uid(let uid), .account(let account)): uid == account.uid
    case (.uid(let uid), .external): accounts.all.contains { $0.uid == uid } ? false : assumption
    case (.group(let text), _): isMember(person, text)
    case (.gid(let gid), .account(let account)): groups.hasMember(account, gid) ?? assumption
    case (.gid(let gid), .external): groups.hasMember(nil, gid) ?? assumption
    case (.netgroup(let text), .account(let account)):
      accounts.netgroups.contains(text, user: account.name) ?? assumption
    case (.netgroup, .external): assumption
    case (.foreignGroup, _): accounts.externalSources.isEmpty ? false : assumption
    case (.host, _), (.command, _), (.alias, _): false
    }
  }

  private func isMember(_ person: Person, _ group: String) -> Bool {
    switch person {
    case .account(let account): account.isMember(of: group)
    case .external: accounts.hasGroup(group) ? false : assumption
    }
  }

  private func isThisHost(_ name: Sudoers.Name) -> Bool {
    switch name {
    case .all: true
    case .host(let text): Self.isAddress(text) ? assumption : host.matches(text) ?? assumption
    case .netgroup(let text): isThisHost(inGroup: text)
    default: false
    }
  }

  private func isThisHost(inGroup group: String) -> Bool {
    guard let name = host.name else { return accounts.netgroups.contains(group) == false ? false : assumption }
    let short = String(name.prefix { $0 != "." })
    return Truth.any([name, short].map { accounts.netgroups.contains(group, host: $0) }) ?? assumption
  }

  /// An address or a network: which ones this host has is not in its files.
  private static func isAddress(_ text: String) -> Bool {
    text.contains(":") || (text.first?.isNumber ?? false) && text.allSatisfy { $0.isNumber || $0 == "." || $0 == "/" }
  }

  // MARK: Commands

  private func covers(_ name: Sudoers.Name, _ command: Command) -> Bool {
    switch (name, command) {
    case (.all, _): true
    case (.command(let rule), .named(let text)): SudoersCommand(rule).covers(SudoersCommand(text))
    default: false
    }
  }

  // MARK: Settings

  /// The value of each setting that holds: first what is for everybody, hosts and users, then run-as users, then commands.
  private func flags(_ command: Command, _ person: Person) -> [String: Sudoers.Setting] {
    var result: [String: Sudoers.Setting] = [:]
    for phase in 0..<3 {
      for setting in sudoers.settings where applies(setting.scope, in: phase, command, person) {
        result[setting.name] = setting
      }
    }
    return result
  }

  private func value(_ name: String, _ command: Command, _ person: Person) -> Sudoers.Setting? {
    sudoers.settings.last { $0.name == name && applies($0.scope, in: 0, command, person) }
  }

  private func applies(
    _ scope: Sudoers.Setting.Scope, in phase: Int, _ command: Command, _ person: Person
  ) -> Bool {
    switch scope {
    case .everybody: phase == 0
    case .users(let items): phase == 0 && last(items) { matches($0, person) } == true
    case .hosts(let items): phase == 0 && last(items, isThisHost) == true
    case .runas(let items): phase == 1 && last(items, isRoot) == true
    case .commands(let items): phase == 2 && last(items) { covers($0, command) } == true
    }
  }
}

/// A command of sudoers(5) taken apart.
struct SudoersCommand: Sendable {
  let path: String
  /// nil: any; `""` (two quotes): none.
  let arguments: String?

  init(_ text: String) {
    let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(words.first ?? "")
    arguments = words.count > 1 ? String(words[1]) : nil
  }

  /// Whether a rule for this command matches whatever the other one stands for.
  func covers(_ other: SudoersCommand) -> Bool {
    guard coversPath(other.path) else { return false }
    guard let arguments else { return true }
    guard let theirs = other.arguments else { return false }
    if arguments == theirs { return true }
    return arguments != "\"\"" && theirs != "\"\"" && !arguments.hasPrefix("^")
      && ShellPattern(arguments).matches(theirs)
  }

  private func coversPath(_ other: String) -> Bool {
    if path == other { return true }
    if path == "sudoedit" || other == "sudoedit" || path.hasPrefix("^") || other.hasPrefix("^") { return false }
    if path.ends(with: "/") {
      return other.hasPrefix(path) && !other.dropFirst(path.utf8.count).contains("/")
    }
    return ShellPattern(path, stopsAtSlash: true).matches(other)
  }
}
