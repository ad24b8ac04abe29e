import Posture

/// shadow(5): the hash and its age, by name.
struct ShadowTable: Sendable {
  struct Row: Sendable {
    var hash: String
    var ageing: Account.Ageing
    var place: Place
  }

  private var rows: [String: Row] = [:]
  /// Why there is no answer at all.
  let failure: System.Unreadable?
  let path: String

  /// `now` in seconds since the epoch.
  init(_ system: System, _ path: String) {
    self.path = path
    do throws(System.Unreadable) {
      let table = try ColonTable(system, path)
      failure = nil
      for row in table.rows where rows[row.fields[0]] == nil && row.fields.count >= 2 {
        rows[row.fields[0]] = Row(
          hash: row.fields[1], ageing: Self.ageing(row.fields, day: Int(system.now / 86_400)),
          place: Place(path, line: row.line))
      }
    } catch { failure = error == .missing ? nil : error }
  }

  subscript(name: String) -> Row? { rows[name] }

  /// Days of change, expiry and ages; an empty field is -1 (off).
  private static func ageing(_ fields: [String], day: Int) -> Account.Ageing {
    func number(_ index: Int) -> Int { fields.count > index ? Int(fields[index]) ?? -1 : -1 }
    let (changed, maximum, inactive, expiry) = (number(2), number(4), number(6), number(7))
    if expiry >= 0, day >= expiry { return .expired }
    if changed == 0 { return .mustChange }
    guard changed > 0, day >= changed, maximum >= 0 else { return .none }
    let passed = day - changed
    if inactive >= 0, passed >= maximum.addingReportingOverflow(inactive).partialValue, maximum <= 1 << 40 {
      return .passwordExpired
    }
    return passed >= maximum ? .mustChange : .none
  }
}
