/// The days of shadow(5), reckoned from the epoch; negative where a field is empty.
struct PasswordAge: Hashable, Sendable {
  var changed = -1
  var maximum = -1
  var inactive = -1
  var expiry = -1

  /// nil for a row that the C library passes over: a field too few or too many, or no number where one belongs.
  init?(_ fields: [String]) {
    guard let changed = Self.number(fields, 2), Self.number(fields, 3) != nil,
      let maximum = Self.number(fields, 4, mayEnd: true)
    else { return nil }
    (self.changed, self.maximum) = (changed, maximum)
    let rest = fields.dropFirst(5).joined(separator: ":")
    // The old form ends here.
    guard rest.utf8.contains(where: { !ASCII.isSpace($0) }) else { return }
    guard Self.number(fields, 5) != nil, let inactive = Self.number(fields, 6),
      let expiry = Self.number(fields, 7, mayEnd: true),
      fields.count == 8 || (fields.count == 9 && CNumber.orNone(fields[8]) != nil)
    else { return nil }
    (self.inactive, self.expiry) = (inactive, expiry)
  }

  /// A field that another one has to follow, unless it `mayEnd` the row; -1 where it is empty.
  private static func number(_ fields: [String], _ index: Int, mayEnd: Bool = false) -> Int? {
    guard index + 1 < fields.count || (mayEnd && index + 1 == fields.count && !fields[index].isEmpty) else {
      return nil
    }
    return CNumber.orNone(fields[index]).map { Int(Int32(bitPattern: $0)) }
  }

  /// What sshd makes of it without PAM: the last day is one on which the account is still good.
  func isOver(day: Int) -> Bool { expiry != -1 && day > expiry }

  /// What pam_unix makes of it on that day.
  func state(day: Int) -> Account.Ageing {
    if expiry >= 0, day >= expiry { return .expired }
    if changed == 0 { return .mustChange }
    guard changed > 0, day >= changed, maximum >= 0 else { return .none }
    let passed = day - changed
    if inactive >= 0, passed >= maximum + inactive { return .passwordExpired }
    return passed >= maximum ? .mustChange : .none
  }

  /// The same before 1.6: a day later, and a missing day of change counts as -1.
  func stateBefore16(day: Int) -> Account.Ageing {
    if expiry != -1, day >= expiry { return .expired }
    if changed == 0 { return .mustChange }
    guard day >= changed, maximum != -1 else { return .none }
    let passed = day - changed
    if inactive != -1, passed > maximum, passed > inactive, passed > maximum + inactive { return .passwordExpired }
    return passed > maximum ? .mustChange : .none
  }
}
