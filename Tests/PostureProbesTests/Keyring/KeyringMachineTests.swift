import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// What the machine itself keeps, and the remarks about default stores.
struct KeyringMachineTests {
  private static let encryptedRoot = [
    "/etc/fstab": "/dev/mapper/root / ext4 x 0 1\n", "/etc/crypttab": "root UUID=11 none luks\n",
  ]

  private func tree(_ files: [String: String]) throws -> FixtureTree {
    let tree = try FixtureTree(files)
    try tree.addAlice()
    try tree.write("/dev/sda2", LUKSBuilder.image(LUKSBuilder.metadata(slots: 1)))
    tree.link("/dev/disk/by-uuid/11", to: "../../sda2")
    return tree
  }

  @Test func `the host key is bound to the hardware where a TPM is there to seal it`() throws {
    let tree = try tree(["/var/lib/systemd/credential.secret": "x", "/etc/fstab": "/dev/sda1 / ext4 x 0 1\n"])
    let file = try #require(try tree.door("host-credentials"))
    #expect(file.opening == .always && !file.counts)
    #expect(try tree.door("tpm") == nil)
    try tree.write("/sys/class/tpm/tpm0/tpm_version_major", "2\n")
    #expect(try tree.door("host-credentials")?.opening == Opening([.device]))
    #expect(try tree.door("tpm")?.opening == Opening([.device]))
    try tree.write("/sys/class/tpm/tpm0/tpm_version_major", "1\n")
    #expect(try tree.door("tpm") == nil)
  }

  @Test func `credentials in the clear, under a key that everybody knows, and sealed by a TPM alone`() throws {
    let fstab = "/dev/sda1 / ext4 x 0 1\n"
    let null = "BYRp2vb1QySABUnaD46i+yAAAAABAAAADAAAABAAAABHEsXdrCO0\nKbY4\n"
    let tpm = "k6iUCUh0RJCQyvL8k8q1UyAAAAABAAAADAAAABAAAAC1lFmbEzVBfHi\n"
    for (path, text, hasTPM, code, opening) in [
      ("/etc/credstore/password", "secret", true, "credential.plain", Opening.always),
      ("/etc/credstore.encrypted/x", null, true, "credential.nullKey", .always),
      ("/usr/lib/credstore.encrypted/x", tpm, true, "credential.sealed", Opening([.device])),
      ("/run/credstore.encrypted/x", tpm, false, "credential.sealed", nil),
    ] as [(String, String, Bool, String, Opening?)] {
      let tree = try tree(["/etc/fstab": fstab, path: text])
      if hasTPM { try tree.write("/sys/class/tpm/tpm0/tpm_version_major", "2\n") }
      let door = try #require(try tree.door("host-credentials"), "\(path)")
      #expect(door.opening == opening && door.because.first?.code == code && !door.counts, "\(path)")
    }
    #expect(try tree(["/etc/fstab": fstab]).door("host-credentials") == nil)
  }

  @Test(.enabled(if: Tools.has("/usr/bin/systemd-creds"))) func `what systemd-creds seals with nothing`() throws {
    let sealed = try Tools.run(
      "/usr/bin/systemd-creds", ["--with-key=tpm2-absent", "--name=x", "encrypt", "-", "-"], input: Array("s".utf8))
    #expect(HostCredentials.Seal(sealed.utf8) == .nothing)
  }

  @Test func `the agent's key is as safe as the volume that it lies on`() throws {
    let key = DeviceFolder.standard.attesterKey
    let open = try tree(["/etc/fstab": "/dev/sda1 / ext4 x 0 1\n", key: "k"])
    #expect(try open.door("agent-key")?.opening == .always)
    let closed = try tree(Self.encryptedRoot.merging([key: "k"]) { $1 })
    #expect(try closed.door("agent-key")?.opening == .passcode)
    #expect(try closed.door("agent-key")?.counts == false)
  }

  @Test func `a keyring that no login unlocks, and one that opens anywhere`() throws {
    let tree = try tree(Self.encryptedRoot)
    try tree.write("/home/alice/.local/share/keyrings/login.keyring", KeyringGnomeTests.encrypted)
    try tree.write("/etc/pam.d/login", "auth required pam_unix.so\n")
    try tree.write("/usr/lib/security/pam_unix.so", "")
    try tree.write("/usr/lib/security/pam_gnome_keyring.so", "")
    func codes() throws -> Set<String> {
      Set(try tree.examine().remarks.filter { $0.door == "secrets@gnome-keyring:login" }.map(\.cause.code))
    }
    #expect(try codes() == ["keyringNotUnlockedAtLogin", "passcodeBoundPortable"])
    try tree.write("/etc/pam.d/login", "auth required pam_unix.so\nauth optional pam_gnome_keyring.so\n")
    #expect(try codes() == ["passcodeBoundPortable"])
    let tpm = [("systemd-tpm2", 0, ",\"tpm2-pin\":true")]
    try tree.write("/dev/sda2", LUKSBuilder.image(LUKSBuilder.metadata(slots: 1, tokens: tpm)))
    try tree.write("/etc/crypttab", "root UUID=11 none tpm2-device=auto\n")
    #expect(try codes() == [])
  }

  @Test func `secrets of root count where root can come in`() throws {
    var key = Door("ssh-key:root:.ssh/id_rsa", .secret, "root", .always, because: [])
    key.cause = Cause("keyWithoutPassphrase", observed: "x")
    var facts = ProbeResult()
    facts.subjects = [Subject(name: "root", uid: 0, kind: .root, account: .active, password: .locked)]
    facts.doors = [key]
    func result() -> CheckResult? {
      Judge.evidence(of: facts, under: .entry).checks.first { $0.name == .keyring }?.result
    }
    #expect(result() == .absent)
    facts.doors.append(Door("ssh@sshd", .remote, "root", Opening([.token]), because: []))
    #expect(result() == .fail)
  }

  @Test func `every code of a cause is in the catalogue`() {
    let codes = [
      "volumeNotEncrypted", "deviceBoundOnly", "passcodeBoundPortable", "latentSlot", "keyFileBesideLock",
      "tpmWithoutPCRs", "keyFromNetwork", "plainSwap", "keyringWithoutPassword", "keyringNotUnlockedAtLogin",
      "keyWithoutPassphrase", "homeNotEncrypted", "providerOnlyWhileRunning", "storeWithoutPasscode",
    ]
    for code in codes { #expect(FindingCatalogue[code] != nil, "\(code)") }
  }
}
