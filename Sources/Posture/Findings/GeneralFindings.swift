extension FindingCatalogue {
  /// Codes that any check can carry, and those that ``Judge`` gives to a door without a cause of its own.
  static let general: [FindingCode] = [
    FindingCode(
      "unreadable", "A file that decides could not be read.",
      advice: "Run the agent with the rights its unit gives it, or mend the file."),
    FindingCode(
      "notModelled", "A way in was found whose rules this version does not know.",
      advice: "Remove it if it is not used; otherwise judge it by hand, or list it as intended in the policy."),
    FindingCode(
      "probeFailed", "A part of the examination crashed or did not end in time.",
      advice: "Look at what it was reading; report it as a defect of the agent."),
    FindingCode(
      "documentRefused", "A policy or trust document from the broker was refused; the one before it stays in force.",
      advice: "Look who publishes it: it is older than one seen before, below the floor, or signed by the wrong key."),
    FindingCode(
      "openEntry", "Somebody at the device gets in without proving who they are.",
      advice: "See the reasons of the door, or list it as intended in the policy."),
    FindingCode(
      "openBoot", "Somebody at the device gets a shell at boot without proving who they are.",
      advice: "Set a boot loader password, or encrypt the disk with a passcode."),
    FindingCode(
      "openRemote", "Somebody on the network gets in without proving who they are.",
      advice: "See the reasons of the door and close it."),
    FindingCode(
      "openUnlock", "An abandoned or locked session can be entered without proof.",
      advice: "Turn automatic locking on, and ask for the password on unlock."),
    FindingCode(
      "openElevation", "A user becomes root without proving who they are.",
      advice: "Remove the rule, or ask for the password."),
    FindingCode(
      "openSecret", "Stored secrets can be read without proof.",
      advice: "Protect the store with a passphrase."),
    FindingCode(
      "unknownDoor", "It could not be told whether a proof is required here.",
      advice: "See the reasons of the door."),
    FindingCode(
      "noWayIn", "Nobody can get in at all.",
      advice: "Set a password or install a key for an owner."),
    FindingCode(
      "intendedDoorLeadsToRoot", "A door that the policy lists as intended leads to root or to somebody's secrets.",
      advice: "Take the elevation away from that subject, or remove the entry from the policy."),
    FindingCode(
      "proofOncePerBoot", "Proof is asked once per boot only, by another door in front of this one.",
      advice: "Nothing to do if that is meant; otherwise turn the automatic login off."),
    FindingCode(
      "dormantDoor", "A way in is configured but not started.",
      advice: "Remove the configuration so that starting the service later opens nothing."),
  ]
}
