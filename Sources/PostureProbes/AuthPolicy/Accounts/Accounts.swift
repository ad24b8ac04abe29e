import Posture

/// The people and services of the system.
struct Accounts: Sendable {
  /// Every row of passwd, the first one of each name, in file order.
  let all: [Account]
  /// Sources of further people that nsswitch names and that are not on this disk: `sss`, `winbind`, `ldap`.
  let externalSources: [String]
  /// Subjects and gaps to report.
  let result: ProbeResult

  init(_ system: System) {
    all = []
    externalSources = []
    result = ProbeResult()
  }

  subscript(name: String) -> Account? { all.first { $0.name == name } }

  /// Those that doors are reported for whatever the answer: owners, and root.
  var people: [Account] { all.filter { $0.kind != .service } }
  var owners: [Account] { all.filter { $0.kind == .owner } }
  /// Accounts of neither kind: reported only where one of their doors is not closed.
  var services: [Account] { all.filter { $0.kind == .service } }
  /// Whether a local group of this name exists.
  func hasGroup(_ name: String) -> Bool { false }
}
