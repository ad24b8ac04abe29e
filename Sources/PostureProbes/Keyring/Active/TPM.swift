import CTPM
import Glibc
import Posture
import PosturePlatform

/// Seals a random secret to the TPM and unseals it again, without a PIN and with one.
enum TPM {
  enum Outcome: Hashable, Sendable {
    /// Both round trips hold, and a wrong PIN is refused.
    case works(isOwned: Bool)
    /// tpm2-tss is not installed.
    case noLibrary
    case noDevice
    /// /dev/tpmrm0 belongs to group tss.
    case denied
    case mismatch
    /// The secret came out with the wrong PIN.
    case acceptsWrongPIN
    /// Response code of the TPM or of tpm2-tss (TCG TSS 2.0 Overview, section 2.4).
    case failed(UInt32)
    case timeout
  }

  static let device = "/dev/tpmrm0"
  /// Milliseconds: a slow TPM makes a primary key in one to two seconds.
  static let timeout: Int64 = 8_000
  private static let gate = Gate()

  /// On a thread of its own.
  static func start(tcti: String = "device:\(device)") -> Attempt<Outcome>? {
    Attempt(gate, "tpm") { roundTrip(tcti: tcti) }
  }

  static func roundTrip(tcti: String) -> Outcome {
    var opened: OpaquePointer?
    let code = ctpm_open(tcti, &opened)
    guard code == 0, let tpm = opened else { return failure(code, tcti) }
    defer { ctpm_close(tpm) }
    var isOwned = false
    let read = ctpm_owner_auth(tpm, &isOwned)
    guard read == 0 else { return .failed(read) }
    // With an owner's password set, the null hierarchy does as well, and asks for none.
    if let fault = seal(tpm, owner: !isOwned, pin: []) { return fault }
    if let fault = seal(tpm, owner: !isOwned, pin: Random.bytes(16)) { return fault }
    return .works(isOwned: isOwned)
  }

  private static func seal(_ tpm: OpaquePointer, owner: Bool, pin: [UInt8]) -> Outcome? {
    let secret = Random.bytes(32)
    var outcome = ctpm_seal()
    let code = pin.withUnsafeBufferPointer {
      ctpm_seal_round_trip(tpm, owner, secret, secret.count, pin.isEmpty ? nil : $0.baseAddress, $0.count, &outcome)
    }
    guard code == 0 else { return .failed(code) }
    guard outcome.matches else { return .mismatch }
    return pin.isEmpty || outcome.refuses_wrong_pin ? nil : .acceptsWrongPIN
  }

  private static func failure(_ code: UInt32, _ tcti: String) -> Outcome {
    if code == UInt32(bitPattern: Int32(truncatingIfNeeded: CTPM_NO_LIBRARY)) { return .noLibrary }
    guard code == UInt32(bitPattern: Int32(truncatingIfNeeded: CTPM_NO_DEVICE)) else { return .failed(code) }
    guard tcti == "device:\(device)", access(device, F_OK) == 0 else { return .noDevice }
    return access(device, R_OK | W_OK) == 0 ? .noDevice : .denied
  }
}

extension TPM.Outcome {
  /// For the row of the TPM.
  var proof: Door.Proof {
    switch self {
    case .works(let isOwned): Door.Proof(.roundTrip, .ok, reason: isOwned ? "ownerPasswordSet" : nil)
    case .noLibrary: Door.Proof(.roundTrip, .refused, reason: "noLibrary")
    case .noDevice: Door.Proof(.roundTrip, .failed, reason: "noDevice")
    case .denied: Door.Proof(.roundTrip, .refused, reason: "permissionDenied")
    case .mismatch: Door.Proof(.roundTrip, .failed, reason: "readBackDiffers")
    case .acceptsWrongPIN: Door.Proof(.roundTrip, .failed, reason: "acceptsWrongPIN")
    case .failed(let code): Door.Proof(.roundTrip, .failed, reason: "0x\(String(code, radix: 16))")
    case .timeout: Door.Proof(.roundTrip, .timeout)
    }
  }
}
