import CKeyutils
import Glibc
import PosturePlatform

/// Stores a random secret in the kernel's key retention service, reads it back and takes it away again (keyrings(7)).
///
/// The key hangs on the calling thread's own keyring, which the kernel drops with the thread, so that nothing stays
/// behind whenever the process is killed.
enum KernelKeyring {
  enum Outcome: Hashable, Sendable {
    case works
    /// The owner's quota of keys or bytes is used up (EDQUOT).
    case quota
    /// A security policy or a system call filter forbids it.
    case denied
    /// The kernel has no key retention service.
    case missing
    /// What came back was not what had been stored.
    case mismatch
    case failed(SystemError)
  }

  static func roundTrip() -> Outcome {
    let secret = Random.bytes(32)
    do throws(SystemError) {
      let key = try Key(type: "user", description: "posture:round-trip", payload: secret)
      return try key.read() == secret ? .works : .mismatch
    } catch { return Outcome(error) }
  }

  struct SealedTypes: Hashable, Sendable {
    var trusted: Bool
    var encrypted: Bool
  }

  private static let gate = Gate()

  /// ``sealedTypes()`` on a thread of its own: a trusted key takes the TPM's time.
  static func startSealedTypes() -> Attempt<SealedTypes>? { Attempt(gate, "kernel-keys", sealedTypes) }

  /// Whether the kernel makes keys that only it, or only this machine's TPM or TEE, can read (keyrings(7), `trusted` and
  /// `encrypted`). Both are made and dropped.
  @Sendable static func sealedTypes() -> SealedTypes {
    let trusted = try? Key(type: "trusted", description: "posture:trusted", payload: Array("new 32".utf8))
    let master = try? Key(type: "user", description: "posture:master", payload: Random.bytes(32))
    guard master != nil else { return SealedTypes(trusted: trusted != nil, encrypted: false) }
    let encrypted = try? Key(
      type: "encrypted", description: "posture:encrypted", payload: Array("new user:posture:master 32".utf8))
    return SealedTypes(trusted: trusted != nil, encrypted: encrypted != nil)
  }
}

extension KernelKeyring.Outcome {
  fileprivate init(_ error: SystemError) {
    switch error.errno {
    case EDQUOT: self = .quota
    case EACCES, EPERM: self = .denied
    case ENOSYS: self = .missing
    default: self = .failed(error)
    }
  }

  /// For `proof.reason`; nil where it works.
  var reason: String? {
    switch self {
    case .works: nil
    case .quota: "quotaExceeded"
    case .denied: "permissionDenied"
    case .missing: "noKeyService"
    case .mismatch: "readBackDiffers"
    case .failed(let error): error.reason
    }
  }
}

/// One key on the calling thread's keyring; invalidated at the end of its life.
private struct Key: ~Copyable {
  private let serial: key_serial_t

  /// Seconds after which the kernel drops a key by itself, should the thread live on without having done so.
  private static let timeout: UInt32 = 5

  init(type: String, description: String, payload: [UInt8]) throws(SystemError) {
    serial = try retrying("add_key", description) {
      add_key(type, description, payload, payload.count, KEY_SPEC_THREAD_KEYRING)
    }
    keyctl_set_timeout(serial, Self.timeout)
  }

  deinit {
    // Kernels before 3.5 cannot invalidate; a revoked key is collected a little later.
    if keyctl_invalidate(serial) < 0 { keyctl_revoke(serial) }
  }

  func read() throws(SystemError) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 64)
    let count = try retrying("keyctl_read") { keyctl_read(serial, &buffer, buffer.count) }
    return Array(buffer.prefix(count))
  }
}
