import Posture
import PosturePlatform

/// The people and services of the system.
struct Accounts: Sendable {
  /// Every row of passwd, the first one of each name, in file order; then those of user records.
  let all: [Account]
  /// Sources of further people that nsswitch names and that are not on this disk: `sss`, `winbind`, `ldap`.
  let externalSources: [String]
  /// Subjects (owners, root, external) and gaps to report.
  let result: ProbeResult
  let sources: NameSources
  let loginDefinitions: LoginDefinitions
  let netgroups: Netgroups

  private let groups: GroupTable
  private let byName: [String: Int]

  init(_ system: System) {
    let reader = AccountReader(system)
    all = reader.accounts
    sources = reader.sources
    loginDefinitions = reader.definitions
    externalSources = reader.externalSources
    groups = reader.groups
    netgroups = Netgroups(system, reader.sources.netgroup, hasDirectory: !reader.externalSources.isEmpty)
    byName = Dictionary(all.enumerated().map { ($0.element.name, $0.offset) }) { first, _ in first }
    var result = reader.result
    result.subjects = all.filter { $0.kind != .service }.map(Self.subject) + externalSources.map(Self.external)
    self.result = result
  }

  subscript(name: String) -> Account? { byName[name].map { all[$0] } }

  /// By name, or by number where that is written in its place.
  func named(_ text: String) -> Account? { self[text] ?? all.first { "\($0.uid)" == text } }

  /// Those that doors are reported for whatever the answer: owners, and root.
  var people: [Account] { all.filter { $0.kind != .service } }
  var owners: [Account] { all.filter { $0.kind == .owner } }
  /// Accounts of neither kind: reported only where one of their doors is not closed.
  var services: [Account] { all.filter { $0.kind == .service } }
  /// Whether a local group of this name exists.
  func hasGroup(_ name: String) -> Bool { groups.names.contains(name) }

  static func subject(_ account: Account) -> Subject {
    Subject(
      name: account.name, uid: account.uid, kind: account.kind, account: account.account,
      password: account.password, scheme: account.scheme, place: account.place)
  }

  private static func external(_ source: String) -> Subject {
    Subject(
      name: "external:\(source)", uid: nil, kind: .external, account: .active, password: .external,
      place: Place("/etc/nsswitch.conf"))
  }

  /// The first state that applies.
  static func state(_ ageing: Account.Ageing, _ shell: String) -> Subject.Account {
    switch ageing {
    case .expired: .expired
    case .passwordExpired: .passwordExpired
    case .mustChange: .mustChange
    case .none: LoginShell.admits(shell) ? .active : .noShell
    }
  }
}
