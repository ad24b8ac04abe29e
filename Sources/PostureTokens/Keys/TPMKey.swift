import Glibc
public import Posture
import Synchronization

/// A private key that never leaves the TPM: a persistent key at a handle, used through tpm2-openssl.
///
/// Persistent, because a key that is loaded for each use stays behind in the TPM when the process is killed.
public struct TPMKey: SigningKey {
  /// Persistent handles of the owner's hierarchy (TCG Registry of Reserved TPM 2.0 Handles).
  public static let handles: ClosedRange<UInt32> = 0x8100_0000...0x817F_FFFF
  /// Where our keys are put: the first that is free.
  public static let ownHandles: ClosedRange<UInt32> = 0x8101_5001...0x8101_500F

  public let handle: UInt32
  public let publicKey: PublicKey
  public var protection: KeyProtection { .tpm }
  private let line: Line

  /// `tcti`: how to reach the TPM, as tpm2-tss writes it; nil: its default, the kernel's resource manager. It becomes
  /// part of this process's environment, which the provider reads, so this is for the start of a program.
  public init(handle: UInt32, tcti: String? = nil) throws(KeyError) {
    guard Self.handles.contains(handle) else { throw KeyError(.tpm, "no persistent handle: \(Self.text(handle))") }
    if let tcti { setenv("TPM2OPENSSL_TCTI", tcti, 1) }
    // Its libraries write to standard error what we say better.
    setenv("TSS2_LOG", "all+NONE", 0)
    let library = try TPMLibrary(uri: "handle:\(Self.text(handle))")
    publicKey = try PublicKey(try library.point())
    line = Line("handle:\(Self.text(handle))", library)
    self.handle = handle
  }

  public func sign(_ bytes: [UInt8]) throws(KeyError) -> [UInt8] {
    let signature = try line.sign(bytes)
    // A TPM that was exchanged, or that errs, would otherwise be noticed by the monitors only.
    guard publicKey.verifies(signature, of: bytes) else { throw KeyError(.tpm, "the TPM signed with another key") }
    return signature
  }

  static func text(_ handle: UInt32) -> String { "0x" + String(handle, radix: 16) }

  /// The connection to the TPM, which is made again where it broke: the TPM, or the daemon before it, was started anew.
  private final class Line: Sendable {
    private let uri: String
    private let library: Mutex<TPMLibrary>

    init(_ uri: String, _ library: TPMLibrary) {
      self.uri = uri
      self.library = Mutex(library)
    }

    func sign(_ bytes: [UInt8]) throws(KeyError) -> [UInt8] {
      try library.withLock { library throws(KeyError) in
        do throws(KeyError) { return try library.sign(bytes) } catch {
          library = try TPMLibrary(uri: uri)
          return try library.sign(bytes)
        }
      }
    }
  }

  // MARK: Making one

  /// Makes a key that only this TPM can use and puts it at the handle, or at the first of ``ownHandles`` that is free;
  /// nothing of it is written to disk. A handle that is taken is left as it is: a key whose numbers nobody remembers
  /// must not be used again.
  public static func create(handle: UInt32? = nil, tcti: String? = nil) throws(KeyError) -> TPMKey {
    let tools = TPMTools(tcti: tcti)
    let taken = try tools.persistent()
    guard let handle = handle ?? ownHandles.first(where: { !taken.contains($0) }) else {
      throw KeyError(.tpm, "\(text(ownHandles.lowerBound)) to \(text(ownHandles.upperBound)) are taken")
    }
    guard handles.contains(handle) else { throw KeyError(.tpm, "no persistent handle: \(text(handle))") }
    guard !taken.contains(handle) else { throw KeyError(.tpm, "\(text(handle)) is taken") }
    try tools.create(handle)
    return try TPMKey(handle: handle, tcti: tcti)
  }

  /// Takes the key at one of ``ownHandles`` out of the TPM for good.
  public static func remove(_ reference: TPMReference) throws(KeyError) {
    guard ownHandles.contains(reference.handle) else { return }
    // Somebody else's key may have taken its place.
    _ = try reference.open()
    try TPMTools(tcti: reference.tcti).remove(reference.handle)
  }
}
