import Glibc
public import Posture
import PosturePlatform

/// A private key that never leaves the TPM: a persistent key at a handle, used through tpm2-openssl.
///
/// Persistent, because a key that is loaded for each use stays behind in the TPM when the process is killed.
public struct TPMKey: SigningKey {
  /// Persistent handles of the owner's hierarchy (TCG Registry of Reserved TPM 2.0 Handles).
  public static let handles: ClosedRange<UInt32> = 0x8100_0000...0x817F_FFFF
  public static let defaultHandle: UInt32 = 0x8101_5001

  public let handle: UInt32
  public let publicKey: PublicKey
  public var protection: KeyProtection { .tpm }
  private let library: TPMLibrary

  /// `tcti`: how to reach the TPM, as tpm2-tss writes it; nil: its default, the kernel's resource manager. It becomes
  /// part of this process's environment, which the provider reads, so this is for the start of a program.
  public init(handle: UInt32, tcti: String? = nil) throws(KeyError) {
    guard Self.handles.contains(handle) else { throw KeyError(.tpm, "no persistent handle: \(Self.text(handle))") }
    if let tcti { setenv("TPM2OPENSSL_TCTI", tcti, 1) }
    library = try TPMLibrary(uri: "handle:\(Self.text(handle))")
    publicKey = try PublicKey(try library.point())
    self.handle = handle
  }

  public func sign(_ bytes: [UInt8]) throws(KeyError) -> [UInt8] {
    let signature = try library.sign(bytes)
    // A TPM that was exchanged, or that errs, would otherwise be noticed by the monitors only.
    guard publicKey.verifies(signature, of: bytes) else { throw KeyError(.tpm, "the TPM signed with another key") }
    return signature
  }

  static func text(_ handle: UInt32) -> String { "0x" + String(handle, radix: 16) }

  // MARK: Making one

  /// Makes a key that only this TPM can use and puts it at the handle; nothing of it is written to disk. A handle that
  /// is taken is left as it is.
  public static func create(handle: UInt32 = defaultHandle, tcti: String? = nil) throws(KeyError) -> TPMKey {
    guard handles.contains(handle) else { throw KeyError(.tpm, "no persistent handle: \(text(handle))") }
    let tools = TPMTools(tcti: tcti)
    if try tools.isTaken(handle) { throw KeyError(.tpm, "\(text(handle)) is taken") }
    try tools.create(handle)
    return try TPMKey(handle: handle, tcti: tcti)
  }
}

/// The commands of tpm2-tools, for what OpenSSL's provider cannot do: make a key persistent.
private struct TPMTools {
  let tcti: String?

  func isTaken(_ handle: UInt32) throws(KeyError) -> Bool {
    let listed = String(decoding: try run("tpm2_getcap", ["handles-persistent"]), as: UTF8.self)
    return listed.lowercased().split(whereSeparator: \.isWhitespace).contains { $0 == TPMKey.text(handle) }
  }

  func create(_ handle: UInt32) throws(KeyError) {
    var template = Array("/tmp/posture-tpm.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw KeyError(.file, underlying: .current("mkdtemp")) }
    let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let files = ["primary", "public", "private", "key"].map { "\(folder)/\($0)" }
    defer {
      files.forEach { unlink($0) }
      rmdir(folder)
    }
    let attributes = "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|sign"
    try step("tpm2_createprimary", ["-Q", "-C", "o", "-G", "ecc", "-c", files[0]])
    try step(
      "tpm2_create",
      ["-Q", "-C", files[0], "-G", "ecc256:ecdsa-sha256", "-u", files[1], "-r", files[2], "-a", attributes])
    try step("tpm2_load", ["-Q", "-C", files[0], "-u", files[1], "-r", files[2], "-c", files[3]])
    try step("tpm2_evictcontrol", ["-Q", "-C", "o", "-c", files[3], TPMKey.text(handle)])
  }

  /// Transient objects are flushed after each step: without a resource manager a TPM has room for three.
  private func step(_ tool: String, _ arguments: [String]) throws(KeyError) {
    _ = try run(tool, arguments)
    _ = try run("tpm2_flushcontext", ["-t"])
  }

  private func run(_ tool: String, _ arguments: [String]) throws(KeyError) -> [UInt8] {
    var command = Command("/usr/bin/\(tool)", arguments)
    command.timeout = 30_000
    if let tcti { command.environment.append("TPM2TOOLS_TCTI=\(tcti)") }
    let output: Command.Output
    do throws(Command.Failure) { output = try command.run() } catch { throw KeyError(.tpm, "\(tool): \(error)") }
    guard output.status == 0 else {
      let words = String(decoding: output.err.prefix(300), as: UTF8.self).split(separator: "\n")
      throw KeyError(.tpm, "\(tool): \(words.first ?? "failed")")
    }
    return output.out
  }
}
