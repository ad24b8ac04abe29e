import Glibc
import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// A real TPM 2.0 in software, with tpm2-tools as the judge.
@Suite(.serialized, .enabled(if: Tools.has("/usr/bin/swtpm", "/usr/bin/tpm2_getcap")))
struct KeyringTPMTests {
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

  // MARK: Everything that hangs, at once

  @Test(.enabled(if: Long.isWanted), .timeLimit(.minutes(1)))
  func `a bus, a TPM and a key type that hang cost their own time once, beside each other`() throws {
    let folder = try Folder()
    // It takes connections and never speaks.
    let bus = try UnixSocket.listen(folder.file("bus"))
    let tpm = try SoftwareTPM()
    tpm.process.send(SIGSTOP)
    let began = Clock.boottimeMilliseconds
    var active = ActiveProbes(began: began, owner: "alice")
    active.tpm = TPM.start(tcti: tpm.tcti)
    active.session = SecretServiceProbe.start(
      began + SecretServiceProbe.timeout, at: "unix:path=\(folder.file("bus"))")
    active.kernelKeys = Attempt(Gate(), "hangs") {
      usleep(12_000_000)
      return KernelKeyring.SealedTypes(trusted: false, encrypted: false)
    }
    var result = ProbeResult()
    var store = Door("secrets@gnome-keyring:login", .secret, "alice", .passcode, because: [])
    store.isDefault = true
    result.doors = [store, Door("tpm", .secret, "*", Opening([.device]), because: [])]
    active.finish(&result)
    let spent = Clock.boottimeMilliseconds - began
    print("three that hang: \(spent) ms")
    // The longest of them, not their sum of twelve seconds.
    #expect(spent >= TPM.timeout && spent < TPM.timeout + 1_500)
    #expect(result.doors.map(\.proof) == [Door.Proof(.roundTrip, .timeout), Door.Proof(.roundTrip, .timeout)])
    // The next examination does not wait for them again.
    #expect(TPM.start(tcti: tpm.tcti) == nil)
    _ = bus.number
    tpm.process.crash()
  }

  // MARK: Killed

  @Test(
    .enabled(if: Long.isWanted && Tools.has("/usr/sbin/tpm2-abrmd", "/usr/bin/dbus-daemon")), .timeLimit(.minutes(5)))
  func `nothing stays loaded of a thousand round trips, and of those that were killed`() async throws {
    let tpm = try SoftwareTPM()
    let folder = try Folder()
    let address = "unix:path=\(folder.file("bus"))"
    let bus = try RunningProcess(
      "/usr/bin/dbus-daemon", ["--session", "--nofork", "--nosyslog", "--address=\(address)"], log: folder.file("log"))
    for _ in 0..<300 where access(folder.file("bus"), F_OK) != 0 { usleep(10_000) }
    // Stands for the kernel's resource manager behind /dev/tpmrm0.
    let manager = try RunningProcess(
      "/usr/sbin/tpm2-abrmd", ["--allow-root", "--session", "--tcti=\(tpm.tcti)"], log: folder.file("log"),
      environment: ["PATH=/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS=\(address)"])
    setenv("POSTURE_TEST_BUS", address, 1)
    defer { unsetenv("POSTURE_TEST_BUS") }
    for _ in 0..<40 {
      await #expect(processExitsWith: .signal(SIGKILL)) {
        setenv("DBUS_SESSION_BUS_ADDRESS", String(cString: getenv("POSTURE_TEST_BUS")), 1)
        guard TPM.roundTrip(tcti: "tabrmd:bus_type=session") == .works(isOwned: false) else { exit(3) }
        _ = try Thread.start("killer") {
          usleep(UInt32.random(in: 0...80_000))
          kill(getpid(), SIGKILL)
        }
        while true { _ = TPM.roundTrip(tcti: "tabrmd:bus_type=session") }
      }
    }
    await #expect(processExitsWith: .success) {
      setenv("DBUS_SESSION_BUS_ADDRESS", String(cString: getenv("POSTURE_TEST_BUS")), 1)
      for _ in 0..<1_000 {
        guard TPM.roundTrip(tcti: "tabrmd:bus_type=session") == .works(isOwned: false) else { exit(3) }
      }
    }
    // The manager itself keeps what it was not told to drop: ask the TPM below it.
    manager.stop()
    for kind in ["handles-transient", "handles-loaded-session", "handles-saved-session", "handles-persistent"] {
      #expect(try tpm.tool("tpm2_getcap", kind) == "", "\(kind)")
    }
    bus.crash()
  }
}
