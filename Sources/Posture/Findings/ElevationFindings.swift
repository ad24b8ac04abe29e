extension FindingCatalogue {
  /// Codes about ways to become root.
  static let elevationFindings: [FindingCode] = [
    FindingCode(
      "sudoNoPassword", "sudo runs any command as root without asking for a password.",
      advice: "Remove NOPASSWD (or !authenticate) from the rule with visudo."),
    FindingCode(
      "sudoCommandIsRoot", "sudo runs a command without a password that gives a root shell or writes any file.",
      advice: "Remove NOPASSWD from the rule, or name a program that cannot run others or write files."),
    FindingCode(
      "sudoCommandNoPassword", "sudo runs a single command as root without a password.",
      advice: "Nothing to do if the command is harmless."),
    FindingCode(
      "sudoServiceNoPassword", "A service account runs any command as root without a password.",
      advice: "Name the commands that the service needs, so that who takes it over does not become root."),
    FindingCode(
      "sudoUnknownUser", "A sudo rule names a user who does not exist.",
      advice: "Remove the rule: whoever gets that name later gets its rights."),
    FindingCode(
      "sudoersRefused", "sudo does not use a file because of its owner, mode or kind.",
      advice: "Give the file to root with mode 0440."),
    FindingCode(
      "sudoersSyntax", "A line of sudoers cannot be read and has no effect.",
      advice: "Mend it with visudo."),
    FindingCode(
      "suNoPassword", "su becomes root without asking for a password.",
      advice: "Set root's password or lock it, and look at the PAM service su."),
    FindingCode(
      "doasNoPassword", "doas runs commands as root without asking for a password.",
      advice: "Remove nopass from the rule in doas.conf."),
    FindingCode(
      "doasRefused", "doas does not use its configuration because of its owner, mode or an error in it.",
      advice: "Give the file to root, writable by nobody else, and mend its syntax."),
    FindingCode(
      "doasUnknownUser", "A doas rule names a user who does not exist.",
      advice: "Remove the rule: whoever gets that name later gets its rights."),
    FindingCode(
      "polkitNoPassword", "An administrator's action is allowed without a password.",
      advice: "Let the action's default or the rule ask for auth_admin."),
    FindingCode(
      "polkitRuleUnknown", "A polkit rule is too intricate to be evaluated.",
      advice: "Judge the rule by hand, or write it as a single condition on action.id, groups and users."),
    FindingCode(
      "rootEquivalentGroup", "Membership of a group is as good as being root, and asks for no password.",
      advice: "Take the user out of the group, and let sudo ask where the rights are needed."),
  ]
}
