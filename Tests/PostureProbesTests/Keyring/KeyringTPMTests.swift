import Glibc
import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// A real TPM 2.0 in software, with tpm2-tools as the judge.
@Suite(.serialized, .enabled(if: Tools.has("/usr/bin/swtpm", "/usr/bin/tpm2_getcap")))
struct KeyringTPMTests {
  private final class SoftwareTPM {
    let folder: Folder
    let process: RunningProcess
    let tcti: String

    init() throws {
      folder = try Folder()
      // The control port has to be the next one.
      let port = UInt16.random(in: 20_000...29_000) / 2 * 2
      process = try RunningProcess(
        "/usr/bin/swtpm",
        [
          "socket", "--tpm2", "--tpmstate", "dir=\(folder.path)", "--server",
          "type=tcp,port=\(port),bindaddr=127.0.0.1",
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

    func tool(_ name: String, _ arguments: String...) throws -> String {
      try Tools.run("/usr/bin/\(name)", arguments, environment: ["TPM2TOOLS_TCTI=\(tcti)"])
    }
  }

  @Test(.timeLimit(.minutes(1))) func `seals and unseals, with and without a PIN, and leaves nothing loaded`() throws {
    let tpm = try SoftwareTPM()
    for _ in 0..<5 { #expect(TPM.roundTrip(tcti: tpm.tcti) == .works(isOwned: false)) }
    #expect(try tpm.tool("tpm2_getcap", "handles-transient") == "")
    #expect(try tpm.tool("tpm2_getcap", "handles-loaded-session") == "")
    #expect(try tpm.tool("tpm2_getcap", "handles-persistent") == "")
    // A wrong PIN did not count towards the lockout.
    #expect(try tpm.tool("tpm2_getcap", "properties-variable").contains("TPM2_PT_LOCKOUT_COUNTER: 0x0\n"))
  }

  @Test(.timeLimit(.minutes(1))) func `works beside an owner with a password`() throws {
    let tpm = try SoftwareTPM()
    _ = try tpm.tool("tpm2_changeauth", "-c", "owner", "secret")
    #expect(TPM.roundTrip(tcti: tpm.tcti) == .works(isOwned: true))
    #expect(try tpm.tool("tpm2_getcap", "properties-variable").contains("TPM2_PT_LOCKOUT_COUNTER: 0x0\n"))
  }

  @Test func `no device and a frozen one`() throws {
    #expect(TPM.roundTrip(tcti: "device:/nowhere") == .noDevice)
    let tpm = try SoftwareTPM()
    tpm.process.send(SIGSTOP)
    let began = Clock.boottimeMilliseconds
    let attempt = try #require(TPM.start(tcti: tpm.tcti))
    #expect(attempt.wait(until: began + 500) == nil)
    #expect(Clock.boottimeMilliseconds - began < 1_500)
    // While it hangs, no second one is started.
    #expect(TPM.start(tcti: tpm.tcti) == nil)
    tpm.process.crash()
    #expect(attempt.wait(until: Clock.boottimeMilliseconds + 10_000) != nil)
  }
}
