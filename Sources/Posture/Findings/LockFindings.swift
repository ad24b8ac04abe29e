extension FindingCatalogue {
  /// Codes about screen locks and biometrics.
  static let lockFindings: [FindingCode] = []
}
