extension FindingCatalogue {
  /// Codes about accounts and passwords.
  static let accountFindings: [FindingCode] = [
    FindingCode(
      "emptyPassword", "An owner's password is empty.",
      advice: "Set one with passwd, or lock the account with passwd -l."),
    FindingCode(
      "emptyHash", "An owner's password hash verifies the empty password.",
      advice: "Set a password with passwd, or lock the account with passwd -l."),
    FindingCode(
      "passcodeNotSet", "An owner has no password that could match, and gets in by other factors only, or not at all.",
      advice: "Nothing to do if that is meant."),
    FindingCode(
      "unknownUser", "A user that was asked for does not exist here.",
      advice: "Check the name; users of a directory cannot be asked about one by one."),
    FindingCode(
      "hashTooCostly", "A password hash asks for so many rounds that it was not tried with the empty password.",
      advice: "Set the password anew with ordinary parameters: a login with this one takes minutes or more."),
    FindingCode(
      "externalAccount", "A directory or systemd-homed decides, and cannot be asked.",
      advice: "Judge the directory's rules by hand."),
    FindingCode(
      "membershipUnknown", "Who belongs to a group or owns a card cannot be told from this disk.",
      advice: "Judge it by hand, or list the door as intended in the policy."),
    FindingCode(
      "conditionUnknown", "A condition of a PAM line depends on what cannot be told beforehand.",
      advice: "Make the condition depend on the user or the group alone."),
    FindingCode(
      "pamPermits", "A PAM stack lets somebody through without a question.",
      advice: "Remove the line, or put a module that asks before it."),
    FindingCode(
      "pamFilterGrants", "A PAM line that only looks at who calls ends the stack with success.",
      advice: "Make the line requisite or required, so that it only filters."),
    FindingCode(
      "pamSkipsUnenrolled", "A PAM module lets through whoever has not enrolled.",
      advice: "Remove nouserok or nullok, or let another module that asks follow as required."),
    FindingCode(
      "pamModuleNotModelled", "A PAM module decides whose rules this version does not know.",
      advice: "Judge it by hand; where it only has side effects, make its line optional."),
    FindingCode(
      "pamVersionUnknown", "The answer differs between versions of libpam, and the installed one could not be found.",
      advice: "Set a password for the account."),
    FindingCode(
      "pamUndecided", "What a PAM stack answers cannot be told.",
      advice: "See the reasons of the door."),
    FindingCode(
      "pamLoop", "A PAM file includes itself.",
      advice: "Remove the include that leads back."),
    FindingCode(
      "pamTooLarge", "A PAM service has more entries than any real one.",
      advice: "Look at the includes of the service."),
    FindingCode(
      "passcodeLockout", "An account is locked for a time after too many wrong passwords.",
      advice: "Wait, or reset the counter with faillock --reset."),
    FindingCode(
      "biometryNotAvailable", "No service asks for a finger or a face, or the software for it is missing.",
      advice: "Nothing to do unless biometrics are wanted."),
    FindingCode(
      "biometryNotEnrolled", "No owner has enrolled a finger or a face.",
      advice: "Enrol with fprintd-enroll if biometrics are wanted."),
    FindingCode(
      "biometryLockout", "Too many failures keep the finger from being asked for.",
      advice: "Wait, or reset the counter with faillock --reset."),
    FindingCode(
      "biometryReaderUnknown", "Prints and a service that asks for them are there; whether a reader is cannot be seen.",
      advice: "Examine the running system instead of its disk."),
    FindingCode(
      "biometryCannotUnlockKeyring", "A finger opens the session, but cannot open the keyring, which stays locked.",
      advice: "Enter the password once after a login by finger; do not give the keyring an empty password."),
  ]
}
