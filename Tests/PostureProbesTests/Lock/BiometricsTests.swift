import Posture
import PosturePlatform
import TestKit
import Testing

@testable import PostureProbes

/// Whether a finger opens anything.
struct BiometricsTests {
  private static let hash = "$5$rounds=1000$saltsalt$8nWLvZp1nzQbNeZNdCNEVAd5yEdYCdN2E0rCyrnmj3."

  private func tree(_ auth: String, _ files: [String: String] = [:]) throws -> FixtureTree {
    try FixtureTree(
      [
        "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/bash\n",
        "/etc/shadow": "root:*:19700:0:99999:7:::\nalice:\(Self.hash):19700:0:99999:7:::\n",
        "/etc/group": "alice:x:1000:\n",
        "/etc/pam.d/login": auth + "auth required pam_unix.so\naccount required pam_unix.so\n",
        "/usr/share/dbus-1/system-services/net.reactivated.Fprint.service": "",
      ].merging(files) { $1 })
  }

  private func answer(_ tree: FixtureTree) throws -> Biometrics {
    try #require(BiometricsCheck.look(AuthContext(try System(root: tree.root, now: 1_767_225_600))).biometrics)
  }

  private static let print = ["/var/lib/fprint/alice/driver/device/7": ""]
  private static let finger = "auth sufficient pam_fprintd.so\n"

  @Test func `reach, print and reader are all needed`() throws {
    #expect(try answer(tree("", Self.print)).cause.code == "biometryNotAvailable")
    #expect(try answer(tree(Self.finger)).cause.code == "biometryNotEnrolled")
    let unseen = try answer(tree(Self.finger, Self.print))
    #expect(unseen.result == .notRun && unseen.cause.code == "biometryReaderUnknown")
    let noSoftware = try tree(Self.finger, Self.print)
    _ = try Command("/bin/rm", ["-r", noSoftware.place("/usr")]).run()
    #expect(try answer(noSoftware).cause.code == "biometryNotAvailable")
  }

  @Test func `without the service no module takes a finger`() throws {
    for (software, wanted) in [
      ("/usr/libexec/fprintd", Opening([.biometric], [.passcode])), ("/usr/bin/other", .passcode),
    ] {
      let tree = try tree(Self.finger, Self.print)
      _ = try Command("/bin/rm", ["-r", tree.place("/usr")]).run()
      try tree.write(software, "")
      let context = AuthContext(try System(root: tree.root))
      #expect(context.pam.outcome(of: PAM.Call("login"), for: context.accounts["alice"]).opening == wanted)
    }
  }

  @Test(arguments: [("", CheckResult.notRun), ("Defaults rootpw\n", .absent)])
  func `sudo may ask for the finger of somebody else`(defaults: String, wanted: CheckResult) throws {
    let sudo = [
      "/etc/sudoers": "\(defaults)alice ALL=(ALL) ALL\n",
      "/etc/pam.d/sudo": Self.finger + "auth required pam_unix.so\naccount required pam_unix.so\n",
    ]
    let tree = try tree("", sudo.merging(Self.print) { $1 })
    let system = try System(root: tree.root, now: 1_767_225_600)
    #expect(AuthPolicyProbe().run(on: system).biometrics?.result == wanted)
  }

  @Test func `who has no passcode is asked for no finger`() throws {
    let files = ["/etc/shadow": "alice::19700:0:99999:7:::\n"].merging(Self.print) { $1 }
    let found = try answer(tree("auth sufficient pam_unix.so nullok\n" + Self.finger, files))
    #expect(found.result == .absent && found.cause.code == "passcodeNotSet")
  }

  @Test(arguments: [
    ("usr/lib/systemd/system/fprintd.service.d/a.conf", "[Service]\nNice=0\n", CheckResult.notRun),
    ("etc/systemd/system/fprintd.service.d/a.conf", "[Service]\nStateDirectory=\nStateDirectory=other\n", .absent),
    ("etc/systemd/system/fprintd.service", "", .absent),
  ])
  func `the service's unit may be masked, or keep prints elsewhere`(
    _ path: String, _ text: String, _ wanted: CheckResult
  ) throws {
    let files = [
      "/usr/lib/systemd/systemd": "", path: text,
      "/usr/lib/systemd/system/fprintd.service": "[Service]\nExecStart=/usr/libexec/fprintd\nStateDirectory=fprint\n",
    ]
    #expect(try answer(tree(Self.finger, Self.print.merging(files) { $1 })).result == wanted)
  }

  @Test func `lockers ask for a proof alone, and other modules ask for fingers and faces too`() throws {
    let locker = ["/etc/pam.d/swaylock": Self.finger, "/etc/pam.d/other": "account required pam_deny.so\n"]
    #expect(try answer(tree("", locker.merging(Self.print) { $1 })).cause.code == "biometryReaderUnknown")
    for (line, howdy) in [
      ("auth sufficient pam_python.so /lib/security/howdy/pam.py\n", "/usr/lib/security/howdy/pam.py"),
      ("auth sufficient pam_fprintd_grosshack.so\n", ""),
    ] {
      let files = howdy.isEmpty ? [:] : [howdy: ""]
      let modules = ["pam_python.so", "pam_fprintd_grosshack.so", "pam_unix.so"].map { ("/usr/lib/security/\($0)", "") }
      let one = try tree(line, files.merging(modules) { $1 })
      #expect(try answer(one).result == .notRun, "\(line)")
    }
  }

  @Test func `gdm takes no finger where its settings say so`() throws {
    var off = GVDBWriter()
    off.values = [("/org/gnome/login-screen/enable-fingerprint-authentication", "b", [0])]
    let gdm = [
      "/etc/pam.d/gdm-password": "auth required pam_unix.so\n",
      "/etc/pam.d/gdm-fingerprint": "auth required pam_fprintd.so\n",
      "/etc/dconf/profile/gdm": "user-db:user\nsystem-db:gdm\n", "/etc/dconf/profile/user": "system-db:gdm\n",
    ]
    let tree = try tree("", gdm.merging(Self.print) { $1 })
    let services = { GDM.services(AuthContext(try System(root: tree.root))) }
    #expect(try services() == ["gdm-password", "gdm-fingerprint"])
    try tree.write("/etc/dconf/db/gdm", off.bytes)
    #expect(try services() == ["gdm-password"])
    #expect(try answer(tree).cause.code == "biometryNotAvailable")
  }

  @Test func `prints are files with a finger's number`() throws {
    for (path, isOne) in [
      ("alice/driver/device/7", true), ("alice/driver/device/a", true), ("alice/driver/device/0", false),
      ("alice/driver/device/b", false), ("alice/driver/device/77", false), ("bob/driver/device/7", false),
      ("alice/7", false),
    ] {
      let found = try answer(tree(Self.finger, ["/var/lib/fprint/\(path)": ""]))
      #expect((found.result == .notRun) == isOne, "\(path)")
    }
  }

  @Test func `too many failures keep the finger away`() throws {
    let tally = try tree("auth requisite pam_faillock.so preauth deny=1 unlock_time=never\n" + Self.finger, Self.print)
    var record = [UInt8](repeating: 0, count: 64)
    record[54] = 1
    for byte in 0..<8 { record[56 + byte] = UInt8(truncatingIfNeeded: 1_767_225_000 >> (8 * byte)) }
    try tally.write("/var/run/faillock/alice", record)
    let found = try answer(tally)
    #expect(found.result == .absent && found.cause.code == "biometryLockout")
    let remarks = BiometricsCheck.look(AuthContext(try System(root: tally.root, now: 1_767_225_600))).remarks
    #expect(remarks.map(\.cause.code).contains("passcodeLockout"))
  }

  @Test func `a finger that opens the session leaves the keyring locked`() throws {
    let keyring = ["/home/alice/.local/share/keyrings/login.keyring": "x"]
    let home = try tree(Self.finger, Self.print.merging(keyring) { $1 })
    let context = AuthContext(try System(root: home.root))
    #expect(BiometricsCheck.look(context).remarks.map(\.cause.code) == ["biometryCannotUnlockKeyring"])
  }

  // MARK: The service

  /// A bus of our own, on which a small program answers as fprintd does: readers, and who has a print on them.
  private func service(_ readers: [String], _ users: [String], _ body: (FingerprintService) throws -> Void) throws {
    try TemporaryFolder.with { folder in
      let address = "unix:path=\(folder)/bus"
      let script = Repository.path("Tests/Judges/fprintd_stand_in.py")
      let bus = try RunningProcess(
        "/usr/bin/dbus-daemon", ["--session", "--nofork", "--nopidfile", "--nosyslog", "--address=\(address)"],
        log: "\(folder)/bus.log")
      defer { bus.stop() }
      let service = try RunningProcess(
        "/usr/bin/python3", [script, address, readers.joined(separator: ","), users.joined(separator: ",")],
        log: "\(folder)/service.log")
      defer { service.stop() }
      let end = Clock.monotonicMilliseconds + 10_000
      while Clock.monotonicMilliseconds < end {
        let bus = try? MessageBus(address, deadline: Clock.boottimeMilliseconds + 500)
        if (try? bus?.owner(of: "net.reactivated.Fprint")) != nil { break }
        Clock.sleep(milliseconds: 50)
      }
      try body(FingerprintService(address: address))
    }
  }

  private static let canAsk =
    (try? Command("/usr/bin/python3", ["-c", "import gi.repository.Gio"]).run().status) == 0
    && (try? Command("/usr/bin/dbus-daemon", ["--version"]).run().status) == 0

  @Test(.enabled(if: canAsk, "python3-gi, dbus-daemon"))
  func `fprintd says which readers there are, and who has a print on one`() throws {
    try service(["/net/reactivated/Fprint/Device/0"], ["alice"]) { service in
      #expect(service.readers == .some(["/net/reactivated/Fprint/Device/0"]))
      #expect(service.fingers(of: "alice") == .some)
      #expect(service.fingers(of: "bob") == .none)
      #expect(service.fingers(of: "refused") == .refused)
    }
    try service([], []) { service in
      #expect(service.readers == .none)
      #expect(service.fingers(of: "alice") == .none)
    }
  }

  @Test func `no bus is no answer, and costs no time`() throws {
    let start = Clock.monotonicMilliseconds
    guard case .unknown = FingerprintService(address: "unix:path=/nonexistent/bus").readers else {
      Issue.record("an answer without a bus")
      return
    }
    #expect(Clock.monotonicMilliseconds - start < 2_000)
  }
}
