import Posture

/// When a program that compares passwords by itself asks shadow(5).
enum ShadowRule {
  /// Where passwd's field is "x".
  case crossed
  /// BusyBox: where it is "x" or "*".
  case crossedOrStarred
  /// Wherever there is a row, whatever passwd has: sshd, sudo.
  case anyRow
}

extension Account {
  /// The account as a program by this rule has it; `##name` means something to pam_unix alone.
  func seen(by rule: ShadowRule) -> Account {
    switch rule {
    case .anyRow: return shadowRow.map(replacing) ?? self
    case .crossedOrStarred where field == "*": return shadowRow.map(replacing) ?? self
    case .crossed, .crossedOrStarred:
      var account = self
      if !isUnshadowed, field != "x" { account.password = .unmatchable }
      return account
    }
  }

  /// The password and its age out of `secret`.
  private func replacing(_ secret: AccountReader.Secret) -> Account {
    var account = self
    (account.password, account.scheme, account.hash) = (secret.field.password, secret.field.scheme, secret.hash)
    (account.age, account.place) = (secret.age, secret.place)
    return account
  }
}
