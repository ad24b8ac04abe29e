extension FindingCatalogue {
  /// Codes about keyrings, volumes and keys.
  static let secretFindings: [FindingCode] = [
    FindingCode(
      "volumeNotEncrypted", "The system or a home lies on a volume that whoever holds the disk can read.",
      advice: "Encrypt it with LUKS and a passphrase, or a TPM with a PIN; on a device without either, keep no secrets."
    ),
    FindingCode(
      "deviceBoundOnly", "The store opens on this hardware without anybody proving who they are.",
      advice: "Add a PIN (systemd-cryptenroll --tpm2-with-pin=yes), or take the automatic slot away."),
    FindingCode(
      "passcodeBoundPortable", "The store asks for a passcode and opens with it on any machine.",
      advice: "Nothing to do if that is meant; otherwise bind it to this device's TPM with a PIN."),
    FindingCode(
      "latentSlot", "The volume's header holds a way in that the system as set up does not use.",
      advice: "Remove the slot with cryptsetup luksKillSlot or systemd-cryptenroll --wipe-slot, if nobody needs it."),
    FindingCode(
      "initrdDiffers", "The initial RAM disk holds another crypttab than the system.",
      advice: "Make it again (update-initramfs -u, dracut -f, mkinitcpio -P), so that what was changed takes effect."),
    FindingCode(
      "keyFileBesideLock", "A volume's key file lies where whoever has the disk can read it.",
      advice: "Keep the key file on a volume that asks for a passcode, or set none in crypttab."),
    FindingCode(
      "tpmWithoutPCRs", "The TPM gives the key away whatever software was started.",
      advice: "Enrol again with PCRs, for instance --tpm2-pcrs=7, or with a PIN."),
    FindingCode(
      "keyFromNetwork", "A server on the network gives the key away without asking anybody.",
      advice: "Nothing to do if the device is never moved out of that network by anybody else."),
    FindingCode(
      "plainSwap", "Swap space is not encrypted, so that secrets from memory stay on the disk.",
      advice: "Put swap on the encrypted volume, or encrypt it with a throw-away key in crypttab."),
    FindingCode(
      "keyringWithoutPassword", "The keyring that secrets are stored in has an empty password.",
      advice: "Set a password for it in Passwords and Keys (seahorse) or KWalletManager."),
    FindingCode(
      "keyringNotUnlockedAtLogin", "No login unlocks the keyring, so that its owner is asked separately.",
      advice: "Add pam_gnome_keyring.so or pam_kwallet5.so to the login's PAM stack, or leave it so."),
    FindingCode(
      "keyWithoutPassphrase", "A private key is stored without a passphrase.",
      advice: "Set one with ssh-keygen -p -f FILE, or keep the key on a security key."),
    FindingCode(
      "homeNotEncrypted", "A home managed by systemd-homed is stored without encryption.",
      advice: "Move it to LUKS or fscrypt storage with homectl."),
    FindingCode(
      "providerOnlyWhileRunning", "The program that keeps secrets serves them only while it runs.",
      advice: "Nothing to do."),
    FindingCode(
      "storeWithoutPasscode", "The machine offers a store that no passcode protects.",
      advice: "Nothing to do; keep there only what may be read without proof."),
  ]
}
