extension FindingCatalogue {
  /// Codes about ways to become root.
  static let elevationFindings: [FindingCode] = []
}
