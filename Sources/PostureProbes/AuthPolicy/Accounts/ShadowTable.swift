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
      for row in table.rows where rows[row.fields[0]] == nil {
        guard let ageing = Self.ageing(row.fields, day: Int(system.now / 86_400)) else { continue }
        rows[row.fields[0]] = Row(hash: row.fields[1], ageing: ageing, place: Place(path, line: row.line))
      }
    } catch { failure = error == .missing ? nil : error }
  }

  subscript(name: String) -> Row? { rows[name] }

  /// Days of change, expiry and ages; an empty field is -1 (off). nil for a row that the C library passes over: too
  /// few fields, or no number where one belongs.
  private static func ageing(_ fields: [String], day: Int) -> Account.Ageing? {
    guard fields.count >= 5 else { return nil }
    var numbers: [Int] = []
    for field in fields[2..<min(8, fields.count)] {
      guard let number = field.isEmpty ? -1 : Int(field) else { return nil }
      numbers.append(number)
    }
    numbers += Array(repeating: -1, count: 6 - numbers.count)
    return ageing(changed: numbers[0], maximum: numbers[2], inactive: numbers[4], expiry: numbers[5], day: day)
  }

  private static func ageing(changed: Int, maximum: Int, inactive: Int, expiry: Int, day: Int) -> Account.Ageing {
    if expiry >= 0, day >= expiry { return .expired }
    if changed == 0 { return .mustChange }
    guard changed > 0, day >= changed, maximum >= 0 else { return .none }
    let passed = day - changed
    let (sum, isTooLarge) = maximum.addingReportingOverflow(inactive)
    if inactive >= 0, !isTooLarge, passed >= sum { return .passwordExpired }
    return passed >= maximum ? .mustChange : .none
  }
}
