extension FindingCatalogue {
  /// Codes about keyrings, volumes and keys.
  static let secretFindings: [FindingCode] = []
}
