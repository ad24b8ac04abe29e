extension FindingCatalogue {
  /// Codes about ways in over the network.
  static let remoteFindings: [FindingCode] = [
    FindingCode(
      "sshdOtherMethod", "sshd trusts somebody else's word: Kerberos, or another host.",
      advice: "Turn GSSAPIAuthentication and HostbasedAuthentication off if they are not used.")
  ]
}
