extension FindingCatalogue {
  /// Codes about screen locks and biometrics.
  static let lockFindings: [FindingCode] = [
    FindingCode(
      "idleNotLocked", "An abandoned session is never locked by itself.",
      advice: "Turn the automatic lock on, or let an idle daemon start the locker.")
  ]
}
