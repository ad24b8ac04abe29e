import Posture

/// What hands over the key of a slot, so that nobody has to type it.
enum KeyslotToken: Hashable, Sendable {
  /// systemd-cryptenroll --tpm2-device.
  case tpm2(pin: Bool, isBoundToBootState: Bool)
  case fido2(pin: Bool, verification: Bool)
  case pkcs11
  case recovery
  /// GRUB asks the TPM for the passphrase.
  case grub
  /// nil: what it needs could not be read.
  case clevis(ClevisPin?)
  case other(String)

  init(_ json: JSON) {
    let type = json["type"]?.string ?? ""
    switch type {
    case "systemd-tpm2":
      self = .tpm2(pin: json["tpm2-pin"]?.bool ?? false, isBoundToBootState: Self.isBoundToBootState(json))
    case "systemd-fido2":
      self = .fido2(
        pin: json["fido2-clientPin-required"]?.bool ?? true, verification: json["fido2-uv-required"]?.bool ?? false)
    case "systemd-pkcs11": self = .pkcs11
    case "systemd-recovery": self = .recovery
    case "grub-tpm2": self = .grub
    case "clevis": self = .clevis(json["jwe"].flatMap(ClevisPin.init(jwe:)))
    default: self = .other(type)
    }
  }

  /// PCRs by value, by a signed policy or by systemd-pcrlock.
  private static func isBoundToBootState(_ json: JSON) -> Bool {
    [json["tpm2-pcrs"], json["tpm2_pubkey_pcrs"]].contains { $0?.array?.isEmpty == false }
      || json["tpm2_pcrlock"]?.bool == true
  }

  /// What has to be shown for it; nil where that is not known.
  var opening: Opening? {
    switch self {
    case .tpm2(let pin, _): pin ? Opening([.device, .passcode]) : Opening([.device])
    case .fido2(true, _): Opening([.token, .passcode])
    // Verification without a PIN is a finger on the key, or the key's own PIN.
    case .fido2(false, true): Opening([.token, .biometric], [.token, .passcode])
    case .fido2(false, false): Opening([.token])
    case .pkcs11: Opening([.token])
    case .recovery: Opening([.recovery])
    case .grub: Opening([.device])
    case .clevis(let pin): pin?.opening
    case .other: nil
    }
  }

  /// The name that crypttab's option and cryptsetup's plugin share: `tpm2` of `tpm2-device=`.
  var device: String? {
    switch self {
    case .tpm2: "tpm2"
    case .fido2: "fido2"
    case .pkcs11: "pkcs11"
    case .recovery, .grub, .clevis, .other: nil
    }
  }

  /// For reasons and remarks.
  var name: String {
    switch self {
    case .tpm2: "tpm2"
    case .fido2: "fido2"
    case .pkcs11: "pkcs11"
    case .recovery: "recovery"
    case .grub: "grub-tpm2"
    case .clevis: "clevis"
    case .other(let type): type
    }
  }

  var asksNetwork: Bool { if case .clevis(let pin?) = self { pin.asksNetwork } else { false } }
}
