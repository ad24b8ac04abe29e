extension FindingCatalogue {
  /// Codes about consoles, display managers, boot.
  static let entryFindings: [FindingCode] = [
    FindingCode(
      "autologin", "A user is logged in without being asked for anything.",
      advice: "Remove the automatic login and restart the service, or list this door as intended in the policy."),
    FindingCode(
      "timedLogin", "A user is logged in by waiting.",
      advice: "Turn the timed login off, or list this door as intended in the policy."),
    FindingCode(
      "autologinUnknownUser", "An automatic login names a user who does not exist; whoever gets that name gets in.",
      advice: "Remove the automatic login."),
    FindingCode(
      "guestSession", "Anybody gets a guest session without proof.",
      advice: "Turn the guest session off in the display manager."),
    FindingCode(
      "loginWithoutAuthentication", "A terminal logs in every user whose name is typed, without proof.",
      advice: "Remove -f from the login options, or the login.noauth credential."),
    FindingCode(
      "consoleShell", "A terminal gives a root shell without proof.",
      advice: "Let a getty with login serve the terminal instead of the shell."),
    FindingCode(
      "rescueWithoutPassword", "The rescue shell opens without a password although root has none that could match.",
      advice:
        "Remove SYSTEMD_SULOGIN_FORCE and --force from rescue.service and emergency.service, or give root a password."),
    FindingCode(
      "bootCommandLineEditable", "Somebody at the device can edit the kernel command line, and boot into a root shell.",
      advice: "Set a boot loader password or turn its editor off; with an unencrypted disk that alone does not help."),
    FindingCode(
      "bootLoaderUnknown", "It could not be told whether the boot loader lets the kernel command line be edited.",
      advice: "Judge the boot loader by hand."),
    FindingCode(
      "displayManagerBroken", "The display manager's configuration cannot be read as it would read it.",
      advice: "Mend the file."),
  ]
}
