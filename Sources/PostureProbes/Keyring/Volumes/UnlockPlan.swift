import Posture

/// How the system as it is set up goes about unlocking one volume.
struct UnlockPlan: Hashable, Sendable {
  /// Where the key comes from without anybody typing it.
  enum Key: Hashable, Sendable {
    case none
    /// A file by its name, and what opens the place that it lies on; nil: not known.
    case file(String, Opening?, Place)
    /// Handed over by a program or a service that is not known.
    case handedOver(Cause)
    /// A script that asks a person and needs this.
    case asked(Opening, Place)
    /// A new random key at each start.
    case throwAway
  }

  var key: Key
  /// A key file is named, whether it is there or not.
  var namesKeyFile = false
  /// Kinds of token that the options name: `tpm2`, `fido2`, `pkcs11`.
  var named: Set<String> = []
  /// Kinds of token whose plugin is there.
  var plugins: Set<String> = []
  var hasClevis = false
  /// The boot loader asks the TPM.
  var hasGRUBWithTPM = false
  /// An empty passphrase is tried first.
  var triesEmptyPassword = false
  /// Nobody is ever asked to type anything.
  var isHeadless = false
  /// The one slot that may be used.
  var slot: String?
  /// Why it is not known how the initial RAM disk goes about it.
  var gap: Cause?

  func uses(_ token: KeyslotToken) -> Bool {
    switch token {
    case .recovery, .other: return true
    case .grub: return hasGRUBWithTPM
    case .clevis: return hasClevis
    case .tpm2, .fido2, .pkcs11:
      guard let device = token.device else { return false }
      return named.contains(device) || (key == .none && !namesKeyFile && plugins.contains(device))
    }
  }
}
