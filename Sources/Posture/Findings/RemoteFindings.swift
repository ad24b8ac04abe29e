extension FindingCatalogue {
  /// Codes about ways in over the network.
  static let remoteFindings: [FindingCode] = [
    FindingCode(
      "sshdOtherMethod", "sshd trusts somebody else's word: Kerberos, or another host.",
      advice: "Turn GSSAPIAuthentication and HostbasedAuthentication off if they are not used."),
    FindingCode(
      "dropbearEmptyPassword", "dropbear lets somebody in with an empty password.",
      advice: "Set a password with passwd; on OpenWrt also turn RootPasswordAuth off once a key is installed."),
  ]
}
