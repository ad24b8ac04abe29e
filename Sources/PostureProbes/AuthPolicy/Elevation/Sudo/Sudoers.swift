import Posture

/// What sudoers(5) says, aliases expanded: rules and the settings that decide about a password.
struct Sudoers: Sendable {
  /// One element of a list: whom, where or what, perhaps with a `!`.
  struct Item: Hashable, Sendable {
    var name: Name
    var isNegated = false
  }

  enum Name: Hashable, Sendable {
    case all
    case user(String)
    case uid(UInt32)
    case group(String)
    case gid(UInt32)
    case netgroup(String)
    /// A group of a plugin (`%:name`).
    case foreignGroup(String)
    /// Name, pattern, address or network.
    case host(String)
    /// Path with its arguments, one space between them.
    case command(String)
    case alias(String)
  }

  /// One command of a rule, with what applies to it.
  struct Grant: Hashable, Sendable {
    var command: Item
    /// nil: none are named.
    var runasUsers: [Item]?
    var runasGroups: [Item]?
    /// PASSWD, NOPASSWD; nil: the setting `authenticate` decides.
    var asksPassword: Bool?
    /// SETENV, NOSETENV; nil: the setting `setenv` decides.
    var setsEnvironment: Bool?
    var notBefore: String?
    var notAfter: String?
  }

  /// Who may do what on which hosts.
  struct Rule: Sendable {
    var users: [Item]
    var hosts: [Item]
    var grants: [Grant]
    var place: Place
    /// As it is written.
    var text: String
  }

  /// One value of a Defaults line.
  struct Setting: Sendable {
    enum Scope: Hashable, Sendable {
      case everybody
      case users([Item])
      case hosts([Item])
      case runas([Item])
      case commands([Item])
    }
    var scope: Scope
    var name: String
    /// nil for a flag.
    var value: String?
    var isOn: Bool
    var place: Place

    /// The settings that have a say in who has to prove what; all others are passed over.
    static let relevant: Set = [
      "authenticate", "rootpw", "targetpw", "runaspw", "exempt_group", "pam_service", "pam_login_service",
      "runas_default", "setenv", "fqdn",
    ]
  }

  var rules: [Rule] = []
  var settings: [Setting] = []
}

extension Sudoers {
  /// The same meaning, wherever it is written.
  func isEquivalent(to other: Sudoers) -> Bool {
    rules.count == other.rules.count && settings.count == other.settings.count
      && zip(rules, other.rules).allSatisfy {
        $0.users == $1.users && $0.hosts == $1.hosts && $0.grants == $1.grants
      }
      && zip(settings, other.settings).allSatisfy {
        $0.scope == $1.scope && $0.name == $1.name && $0.value == $1.value && $0.isOn == $1.isOn
      }
  }

  /// Takes places and texts over from another reading of the same files, as far as both have the same number of rules;
  /// SETENV too, which the JSON of cvtsudoers shows for the commands next to ALL, where it is implied, as well.
  func located(by other: Sudoers) -> Sudoers {
    guard rules.count == other.rules.count else { return self }
    var result = self
    for index in rules.indices {
      result.rules[index].place = other.rules[index].place
      result.rules[index].text = other.rules[index].text
      guard rules[index].grants.count == other.rules[index].grants.count else { continue }
      for (at, grant) in other.rules[index].grants.enumerated() {
        result.rules[index].grants[at].setsEnvironment = grant.setsEnvironment
      }
    }
    return result
  }
}
