/// The days of shadow(5), reckoned from the epoch; negative where a field is empty.
struct PasswordAge: Hashable, Sendable {
  var changed = -1
  var maximum = -1
  var inactive = -1
  var expiry = -1

  /// nil for a row that the C library passes over: too few fields, or no number where one belongs.
  init?(_ fields: [String]) {
    guard fields.count >= 5 else { return nil }
    var numbers: [Int] = []
    for field in fields[2..<min(8, fields.count)] {
      guard let number = Self.number(field) else { return nil }
      numbers.append(number)
    }
    numbers += Array(repeating: -1, count: 6 - numbers.count)
    (changed, maximum, inactive, expiry) = (numbers[0], numbers[2], numbers[4], numbers[5])
  }

  /// As glibc reads it: digits only, cut to 32 bits, so that a number too large is -1.
  private static func number(_ field: String) -> Int? {
    guard field.utf8.allSatisfy(ASCII.isDigit) else { return nil }
    if field.isEmpty { return -1 }
    return Int(Int32(truncatingIfNeeded: min(UInt64(field) ?? .max, 0xffff_ffff)))
  }

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
