import Glibc
import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// Headers that systemd and clevis write with a TPM in software.
@Suite(
  .serialized,
  .enabled(
    if: Tools.has(
      "/usr/sbin/cryptsetup", "/usr/bin/swtpm", "/usr/bin/tpm2_flushcontext", "/usr/bin/systemd-cryptenroll")))
struct KeyringEnrolmentTests: VolumeTrees {
  private static let password = ["PASSWORD=first"]
  private static let first = "first"

  private func format(_ folder: Folder, _ type: String) throws -> String {
    let image = try folder.write("image", "")
    truncate(image, 32 << 20)
    let key = try folder.write("key", Self.first)
    try Tools.run(
      "/usr/sbin/cryptsetup",
      ["-q", "luksFormat", "--type", type, "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", image, key])
    return image
  }

  private func slots(_ folder: Folder) throws -> [LUKSHeader.Slot] {
    try LUKSHeader.read(try System(root: folder.path), "/image").slots
  }

  /// The door of a root volume with this header, every device in use.
  private func opening(_ image: String, crypttab: String) throws -> Opening? {
    let tree = try tree(crypttab: crypttab)
    try tree.overwrite("/dev/sda2", Array(try AtomicFile.readAny(image).prefix(4 << 20)))
    tree.makeFolder("/usr/share/initramfs-tools")
    try tree.write("/usr/share/initramfs-tools/hooks/clevis", "")
    return try root(tree).opening
  }

  @Test(.timeLimit(.minutes(2))) func `what systemd-cryptenroll writes`() throws {
    let folder = try Folder()
    let tpm = try SoftwareTPM()
    let image = try format(folder, "luks2")
    for (arguments, environment) in [
      (["--recovery-key"], []), (["--tpm2-device=\(tpm.tcti)", "--tpm2-pcrs=7"], []),
      (["--tpm2-device=\(tpm.tcti)", "--tpm2-pcrs="], []),
      (["--tpm2-device=\(tpm.tcti)", "--tpm2-pcrs=", "--tpm2-with-pin=yes"], ["NEWPIN=1234"]),
    ] {
      // Without a resource manager each run leaves its sessions behind.
      try tpm.flush()
      try Tools.run("/usr/bin/systemd-cryptenroll", arguments + [image], environment: Self.password + environment)
    }
    let tokens = try slots(folder).map(\.tokens)
    #expect(
      tokens == [
        [], [.recovery], [.tpm2(pin: false, isBoundToBootState: true)], [.tpm2(pin: false, isBoundToBootState: false)],
        [.tpm2(pin: true, isBoundToBootState: false)],
      ])
    #expect(try opening(image, crypttab: "root UUID=11 none luks\n") == Opening([.passcode], [.recovery]))
    #expect(
      try opening(image, crypttab: "root UUID=11 none tpm2-device=auto\n")
        == Opening([.device], [.passcode], [.recovery]))
    let wiped = ["--wipe-slot=password", image]
    try Tools.run("/usr/bin/systemd-cryptenroll", wiped, environment: Self.password)
    #expect(try slots(folder).map(\.id) == ["1", "2", "3", "4"])
    #expect(try opening(image, crypttab: "root UUID=11 none luks\n") == Opening([.recovery]))
  }

  @Test(
    .enabled(if: Long.isWanted && Tools.has("/usr/bin/clevis")), .timeLimit(.minutes(2)), arguments: ["luks1", "luks2"])
  func `what clevis binds`(type: String) throws {
    let folder = try Folder()
    let tpm = try SoftwareTPM()
    let image = try format(folder, type)
    for (pin, settings) in [("tpm2", #"{"pcr_ids":"7"}"#), ("sss", #"{"t":1,"pins":{"tpm2":[{}]}}"#)] {
      try tpm.flush()
      try Tools.run(
        "/usr/bin/clevis", ["luks", "bind", "-y", "-k", folder.file("key"), "-d", image, pin, settings],
        environment: ["TPM2TOOLS_TCTI=\(tpm.tcti)"])
    }
    let listed = try Tools.run("/usr/bin/clevis", ["luks", "list", "-d", image])
    #expect(listed.contains("1: tpm2") && listed.contains("2: sss"))
    #expect(
      try slots(folder).map(\.tokens) == [
        [], [.clevis(.tpm2(isBoundToBootState: true))],
        [.clevis(.shares(threshold: 1, [.tpm2(isBoundToBootState: false)]))],
      ])
    #expect(try opening(image, crypttab: "root UUID=11 none luks\n") == Opening([.device], [.passcode]))
  }
}
