import Posture

/// What a program asks that compares with shadow(5) by itself: BusyBox, and sudo or doas built without PAM.
enum ProofWithoutPAM {
  /// Nothing here says that PAM is used.
  static func applies(to system: System) -> Bool {
    !["/etc/pam.d", "/usr/lib/pam.d", "/usr/etc/pam.d", "/usr/share/pam.d", "/usr/share/pam", "/etc/pam.conf"]
      .contains { system.exists($0) }
  }

  /// Which factors of `account` open; with `takesEmpty` an empty field lets in, without a question or with an empty answer.
  static func outcome(for account: Account?, by rule: ShadowRule = .crossed, takesEmpty: Bool) -> PAM.Outcome {
    guard let account = account?.seen(by: rule) else {
      return PAM.Outcome(opening: nil, because: [Reason("account.external")], cause: nil)
    }
    let reasons = [Reason("shadow.\(account.password.rawValue)", account.place)]
    switch account.password {
    case .set: return PAM.Outcome(opening: .passcode, because: reasons, cause: nil)
    case .emptyHash:
      return PAM.Outcome(
        opening: .always, because: reasons,
        cause: Cause(
          "emptyHash", observed: "\(account.name)'s hash verifies the empty password", evidence: [account.place]))
    case .empty where takesEmpty:
      return PAM.Outcome(
        opening: .always, because: reasons,
        cause: Cause("emptyPassword", observed: "\(account.name)'s password is empty", evidence: [account.place]))
    case .empty, .locked, .unmatchable, .none: return PAM.Outcome(opening: .never, because: reasons, cause: nil)
    case .external, .unreadable: return PAM.Outcome(opening: nil, because: reasons, cause: nil)
    }
  }
}

extension PAM.Outcome {
  static let never = PAM.Outcome(opening: .never, because: [], cause: nil)

  /// Either way in: open if one is, unknown if neither is and one is unknown.
  func or(_ other: PAM.Outcome) -> PAM.Outcome {
    if opening?.answer == .notRequired { return self }
    if other.opening?.answer == .notRequired { return other }
    guard let mine = opening else { return self }
    guard let theirs = other.opening else { return other }
    let both = mine.or(theirs)
    return PAM.Outcome(
      opening: both, because: both == mine ? because : because + other.because, cause: cause ?? other.cause)
  }

  /// With these reasons in front.
  func after(_ reasons: [Reason]) -> PAM.Outcome {
    PAM.Outcome(opening: opening, because: reasons + because, cause: cause)
  }
}
