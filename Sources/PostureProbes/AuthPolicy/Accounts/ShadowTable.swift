import Posture

/// shadow(5): the hash and its age, by name.
struct ShadowTable: Sendable {
  struct Row: Sendable {
    var hash: String
    var age: PasswordAge
    var place: Place
  }

  private var rows: [String: Row] = [:]
  /// Why there is no answer at all.
  let failure: System.Unreadable?
  let path: String

  /// `owner`: of a file that is not root's.
  init(_ system: System, _ path: String, ownedBy owner: UInt32? = nil) {
    self.path = path
    do throws(System.Unreadable) {
      let table = try ColonTable(system, path, ownedBy: owner)
      failure = nil
      for row in table.rows where rows[row.fields[0]] == nil {
        guard let age = PasswordAge(row.fields) else { continue }
        rows[row.fields[0]] = Row(hash: row.fields[1], age: age, place: Place(path, line: row.line))
      }
    } catch { failure = error == .missing ? nil : error }
  }

  subscript(name: String) -> Row? { rows[name] }
}
