extension FindingCatalogue {
  /// Codes about accounts and passwords.
  static let accountFindings: [FindingCode] = [
    FindingCode(
      "emptyPassword", "An owner's password is empty.",
      advice: "Set one with passwd, or lock the account with passwd -l."),
    FindingCode(
      "emptyHash", "An owner's password hash verifies the empty password.",
      advice: "Set a password with passwd, or lock the account with passwd -l."),
    FindingCode(
      "passcodeNotSet", "An owner has no password that could match, and gets in by other factors only, or not at all.",
      advice: "Nothing to do if that is meant."),
  ]
}
