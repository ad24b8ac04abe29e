extension FindingCatalogue {
  /// Codes about ways in over the network.
  static let remoteFindings: [FindingCode] = []
}
