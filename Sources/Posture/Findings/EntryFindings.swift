extension FindingCatalogue {
  /// Codes about consoles, display managers, boot.
  static let entryFindings: [FindingCode] = []
}
