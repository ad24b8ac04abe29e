import Glibc
import PosturePlatform
import TestKit

/// A TPM 2.0 in software (swtpm), with tpm2-tools to ask it.
final class SoftwareTPM {
  let process: RunningProcess
  let tcti: String
  private let folder: Folder

  init() throws {
    folder = try Folder()
    // The control port has to be the next one.
    let port = UInt16.random(in: 20_000...29_000) / 2 * 2
    process = try RunningProcess(
      "/usr/bin/swtpm",
      [
        "socket", "--tpm2", "--tpmstate", "dir=\(folder.path)", "--server", "type=tcp,port=\(port),bindaddr=127.0.0.1",
        "--ctrl", "type=tcp,port=\(port + 1),bindaddr=127.0.0.1", "--flags", "not-need-init,startup-clear",
      ], log: folder.file("log"))
    tcti = "swtpm:host=127.0.0.1,port=\(port)"
    // Each try takes one of the few places in its queue.
    for _ in 0..<200 {
      if Loopback.isOpen(port + 1) { return }
      usleep(10_000)
    }
  }

  deinit { process.crash() }

  @discardableResult
  func tool(_ name: String, _ arguments: String...) throws -> String {
    try Tools.run("/usr/bin/\(name)", arguments, environment: ["TPM2TOOLS_TCTI=\(tcti)"])
  }

  /// Throws away what is loaded.
  func flush() throws {
    for kind in ["-t", "-l", "-s"] { try tool("tpm2_flushcontext", kind) }
  }
}
