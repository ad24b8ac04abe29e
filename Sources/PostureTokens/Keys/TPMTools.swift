import Glibc
import PosturePlatform

/// The commands of tpm2-tools, for what OpenSSL's provider cannot do: make a key persistent.
struct TPMTools {
  let tcti: String?

  /// Handles that hold something.
  func persistent() throws(KeyError) -> Set<UInt32> {
    let listed = String(decoding: try run("tpm2_getcap", ["handles-persistent"]), as: UTF8.self)
    return Set(
      listed.split(whereSeparator: \.isWhitespace).compactMap { word in
        word.lowercased().hasPrefix("0x") ? UInt32(word.dropFirst(2), radix: 16) : nil
      })
  }

  func create(_ handle: UInt32) throws(KeyError) {
    let folder: String
    do throws(SystemError) { folder = try Directory.makeTemporary("posture-tpm") } catch {
      throw KeyError(.file, underlying: error)
    }
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

  func remove(_ handle: UInt32) throws(KeyError) {
    _ = try run("tpm2_evictcontrol", ["-Q", "-C", "o", "-c", TPMKey.text(handle)])
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
