import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// What opens each volume, over whole trees.
struct KeyringVolumesTests: VolumeTrees {
  // MARK: Without encryption

  @Test func `the plain card`() throws {
    let tree = try FixtureTree(["/etc/fstab": "PARTUUID=fb-02 / ext4 defaults,noatime 0 1\n"])
    let door = try root(tree)
    #expect(door.opening == .always && door.holdsSystem && door.counts)
    #expect(door.because == [Reason("volume.plain", file: "/etc/fstab", line: 1)])
    #expect(door.proof == Door.Proof(.none, .ok, reason: "notEncrypted"))
    #expect(door.cause?.code == "volumeNotEncrypted")
  }

  @Test(arguments: ["ubi0:rootfs / ubifs", "ubi0_1 / ubifs", "rootfs / auto", "/dev/root / ext2"])
  func `a board's own memory by the names that have no path`(row: String) throws {
    #expect(try root(FixtureTree(["/etc/fstab": "\(row) defaults 0 0\n"])).opening == .always)
  }

  @Test func `nothing says what the tree lies on`() throws {
    #expect(try FixtureTree().doors().isEmpty)
  }

  @Test(arguments: ["zfs", "nfs4", "overlay", "tmpfs", "bcachefs"])
  func `file systems whose ground does not show are unknown`(type: String) throws {
    let tree = try FixtureTree()
    try mountRoot(tree, "0:30", "pool/root", type: type)
    #expect(try root(tree).answer == .unknown)
  }

  @Test func `an overlay lies on the layer that takes what is written`() throws {
    let tree = try FixtureTree()
    try addDevice(tree, "mtdblock3", "31:3")
    try tree.write(
      "/proc/self/mountinfo",
      """
      20 1 0:21 / / rw - overlay overlayfs:/overlay rw,lowerdir=/rom,upperdir=/overlay/upper,workdir=/overlay/work
      21 20 31:2 / /rom ro - squashfs /dev/root ro
      22 20 31:3 / /overlay rw - jffs2 /dev/mtdblock3 rw

      """)
    #expect(try root(tree).opening == .always)
  }

  @Test func `mounts are those of the first process, whatever fence this one is behind`() throws {
    let tree = try FixtureTree()
    let root = "22 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
    try tree.write("/proc/1/mountinfo", root)
    try tree.write("/proc/self/mountinfo", root + "23 22 8:2 /home /home ro - ext4 /dev/sda2 rw\n")
    let mounts = MountTable(try System(root: tree.root)).mounts
    #expect(mounts.map(\.point) == ["/"])
    #expect(mounts.first?.place == Place("/proc/1/mountinfo", line: 1))
  }

  // MARK: Stacks

  @Test func `LVM on LUKS is as closed as LUKS`() throws {
    let tree = try tree(crypttab: "sda2_crypt UUID=11 none luks,discard\n", fstab: "/dev/mapper/vg-root / ext4 x 0 1\n")
    try addDevice(tree, "sda2", "8:2")
    try addDevice(tree, "dm-0", "254:0", mapping: "sda2_crypt", uuid: "CRYPT-LUKS2-11-sda2_crypt", on: ["sda2"])
    try addDevice(tree, "dm-1", "254:1", mapping: "vg-root", uuid: "LVM-abc", on: ["dm-0"])
    try mountRoot(tree, "254:1", "/dev/mapper/vg-root")
    let doors = try tree.doors()
    let volume = try #require(doors.first { $0.name == "volume:sda2_crypt" })
    #expect(volume.opening == .passcode && volume.holdsSystem && volume.counts && volume.whose == .volume)
    #expect(!doors.contains { $0.name == "volume:root" })
  }

  @Test func `LUKS on LVM, and without sysfs by LVM's own notes`() throws {
    let stacked = try tree(crypttab: "root /dev/vg/secret none luks\n")
    try addDevice(stacked, "dm-0", "254:0", mapping: "vg-secret", uuid: "LVM-abc")
    try addDevice(stacked, "dm-1", "254:1", mapping: "root", uuid: "CRYPT-LUKS2-11-root", on: ["dm-0"])
    stacked.link("/dev/vg/secret", to: "../sda2")
    try mountRoot(stacked, "254:1", "/dev/mapper/root")
    #expect(try root(stacked).opening == .passcode)

    let offline = try tree(crypttab: "sda2_crypt UUID=11 none luks\n", fstab: "/dev/mapper/my--vg-root / ext4 x 0 1\n")
    #expect(try root(offline).answer == .unknown)
    try offline.write(
      "/etc/lvm/backup/my-vg", "physical_volumes {\n pv0 {\n  device = \"/dev/mapper/sda2_crypt\"\t# Hint only\n }\n}\n"
    )
    #expect(try offline.door("volume:sda2_crypt")?.holdsSystem == true)
    try offline.write(
      "/etc/lvm/backup/my-vg",
      "pv0 {\n  device = \"/dev/sdb1\"\n }\n pv1 {\n  device = \"/dev/mapper/sda2_crypt\"\n }\n")
    #expect(try root(offline).opening == .always)
  }

  @Test func `of two legs the open one counts`() throws {
    let tree = try tree(crypttab: "a UUID=11 none luks\nb UUID=11 none luks\n", fstab: "/dev/md0 / ext4 x 0 1\n")
    try addDevice(tree, "sda2", "8:2")
    try addDevice(tree, "sdb2", "8:18")
    try addDevice(tree, "dm-0", "254:0", mapping: "a", uuid: "CRYPT-LUKS2-11-a", on: ["sda2"])
    try addDevice(tree, "dm-1", "254:1", mapping: "b", uuid: "CRYPT-LUKS2-12-b", on: ["sdb2"])
    try addDevice(tree, "md0", "9:0", on: ["dm-0", "dm-1"])
    try mountRoot(tree, "9:0", "/dev/md0")
    #expect(try root(tree).opening == .passcode)
    try addDevice(tree, "md0", "9:0", on: ["sdb2"])
    #expect(try root(tree).opening == .always)
    #expect(try root(tree).cause?.code == "volumeNotEncrypted")
  }

  @Test func `dm-verity checks and does not encrypt`() throws {
    let tree = try FixtureTree()
    try addDevice(tree, "sda2", "8:2")
    try addDevice(tree, "dm-0", "254:0", mapping: "vroot", uuid: "CRYPT-VERITY-11-vroot", on: ["sda2"])
    try mountRoot(tree, "254:0", "/dev/mapper/vroot")
    #expect(try root(tree).opening == .always)
  }

  @Test(.timeLimit(.minutes(1))) func `devices in a circle end`() throws {
    let tree = try FixtureTree()
    try addDevice(tree, "dm-0", "254:0", mapping: "a", uuid: "LVM-a", on: ["dm-1"])
    try addDevice(tree, "dm-1", "254:1", mapping: "b", uuid: "LVM-b", on: ["dm-0"])
    try mountRoot(tree, "254:0", "/dev/mapper/a")
    #expect(try root(tree).answer == .unknown)
    let names = try self.tree(
      crypttab: "a /dev/mapper/b none luks\nb /dev/mapper/a none luks\n", fstab: "/dev/mapper/a / ext4 x 0 1\n")
    #expect(try names.door("volume:a")?.answer == .unknown)
  }

  // MARK: crypttab

  @Test func `a key file is as safe as what it lies on`() throws {
    let rows = "root UUID=11 none luks\ndata UUID=12 /etc/keys/data.key luks\n"
    let tree = try tree(crypttab: rows, fstab: "/dev/mapper/root / ext4 x 0 1\n/dev/mapper/data /home ext4 x 0 2\n")
    try tree.write("/dev/sdb1", LUKSBuilder.image(LUKSBuilder.metadata(slots: 1)))
    tree.link("/dev/disk/by-uuid/12", to: "../../sdb1")
    // Missing, it is asked for.
    #expect(try tree.door("volume:data")?.opening == .passcode)
    try tree.write("/etc/keys/data.key", "k")
    #expect(try tree.door("volume:data")?.opening == .passcode)
    #expect(try tree.door("volume:data")?.because.last?.code == "crypttab.keyFile")
    // The root opens with the TPM alone: so does what it holds the key of.
    let tpm = [("systemd-tpm2", 0, ",\"tpm2-pcrs\":[7]")]
    try tree.write("/dev/sda2", LUKSBuilder.image(LUKSBuilder.metadata(slots: 1, tokens: tpm)))
    try tree.write("/etc/crypttab", rows.replacing("none luks", with: "none tpm2-device=auto"))
    #expect(try tree.door("volume:data")?.opening == Opening([.device]))
    // Beside the lock.
    try tree.write("/etc/crypttab", rows.replacing("/etc/keys", with: "/boot"))
    try tree.write("/boot/data.key", "k")
    try tree.write(
      "/etc/fstab", "/dev/mapper/root / ext4 x 0 1\n/dev/sda1 /boot ext4 x 0 1\n/dev/mapper/data /home ext4 x 0 2\n")
    let door = try #require(try tree.door("volume:data"))
    #expect(door.opening == .always && door.cause?.code == "keyFileBesideLock")
  }

  @Test(.timeLimit(.minutes(1))) func `key files that lie on each other's volumes open nothing by themselves`() throws {
    let rows = "a UUID=11 /mnt/b/key luks\nb UUID=11 /mnt/a/key luks\n"
    let tree = try tree(
      crypttab: rows,
      fstab: "/dev/sda1 / ext4 x 0 1\n/dev/mapper/a /mnt/a ext4 x 0 1\n/dev/mapper/b /mnt/b ext4 x 0 1\n")
    try tree.write("/mnt/a/key", "k")
    try tree.write("/mnt/b/key", "k")
    #expect(try tree.door("volume:a")?.answer == .unknown)
  }

  @Test func `a key on a medium that is put in is a token`() throws {
    let tree = try tree(crypttab: "root UUID=11 /key:LABEL=stick luks\n")
    #expect(try root(tree).opening == Opening([.token]))
    let two = try self.tree(crypttab: "root UUID=11 /dev/disk/by-id/usb-stick luks\n", slots: 2)
    #expect(try root(two).opening == Opening([.passcode], [.token]))
  }

  @Test func `swap with a key of its own each time is no store`() throws {
    let tree = try FixtureTree([
      "/etc/crypttab": "swap /dev/sda3 /dev/urandom swap,cipher=aes-xts-plain64\n",
      "/etc/fstab": "/dev/sda1 / ext4 x 0 1\n",
    ])
    let door = try #require(try tree.door("volume:swap"))
    #expect(door.opening == .never && !door.counts)
  }

  @Test func `plain swap beside an encrypted root is remarked`() throws {
    let tree = try tree(
      fstab: "/dev/mapper/root / ext4 x 0 1\n/dev/sda3 none swap sw 0 0\n/swapfile none swap sw 0 0\n")
    #expect(
      try tree.examine().remarks.filter { $0.cause.code == "plainSwap" }.map(\.cause.observed) == [
        "/dev/sda3 is not encrypted"
      ])
  }

  @Test func `Debian's initial RAM disk runs key scripts, and knows no folder of keys`() throws {
    let tree = try tree(crypttab: "root UUID=11 none luks,initramfs,keyscript=/x/own\n")
    #expect(try root(tree).answer == .unknown)
    for (script, opening) in [
      ("/lib/cryptsetup/scripts/decrypt_keyctl", Opening.passcode), ("decrypt_gnupg-sc", Opening([.passcode, .token])),
      ("/lib/cryptsetup/scripts/passdev", Opening([.token])),
    ] {
      try tree.write("/etc/crypttab", "root UUID=11 none luks,initramfs,keyscript=\(script)\n")
      #expect(try root(tree).opening == opening)
    }
    try tree.write("/etc/os-release", "ID=debian\n")
    try tree.write("/etc/cryptsetup-keys.d/root.key", "k")
    try tree.write("/etc/crypttab", "root UUID=11 none luks\n")
    #expect(try root(tree).opening == .passcode)
  }

  @Test func `a key that is copied into the initial RAM disk lies where that lies`() throws {
    let boot = "/dev/sda1 /boot ext4 x 0 1\n"
    let tree = try tree(
      crypttab: "root UUID=11 /etc/keys/root.key luks,initramfs\n", fstab: "/dev/mapper/root / ext4 x 0 1\n\(boot)",
      slots: 2)
    try tree.write("/etc/keys/root.key", "k")
    try tree.write("/etc/os-release", "ID=debian\n")
    // Not copied: the key cannot be read before the root is there.
    #expect(try root(tree).opening == .passcode)
    try tree.write("/etc/cryptsetup-initramfs/conf-hook", "#KEYFILE_PATTERN=\nKEYFILE_PATTERN=\"/etc/keys/*.key\"\n")
    #expect(try root(tree).opening == .always)
    // /boot on the encrypted root itself: the boot loader has asked.
    try tree.write("/etc/fstab", "/dev/mapper/root / ext4 x 0 1\n")
    #expect(try root(tree).opening == .passcode)
  }

  // MARK: Tokens

  @Test func `a token is in use where crypttab names it or its plugin is there`() throws {
    let tokens = [("systemd-tpm2", 1, ",\"tpm2-pcrs\":[7]")]
    let tree = try tree(slots: 2, tokens: tokens)
    #expect(try root(tree).opening == .passcode)
    let shut = try self.tree(tokens: [("systemd-tpm2", 0, "")])
    #expect(try root(shut).opening == .never && root(shut).because.map(\.code) == ["luks.noSlotInUse"])
    let latent = try tree.examine().remarks.filter { $0.cause.code == "latentSlot" }
    #expect(latent.map(\.cause.observed) == ["slot 1 (tpm2) is not used here"])
    let both = Opening([.device], [.passcode])
    try tree.write("/usr/lib/x86_64-linux-gnu/cryptsetup/libcryptsetup-token-systemd-tpm2.so", "")
    #expect(try root(tree).opening == both)
    #expect(try root(tree).cause?.code == "deviceBoundOnly")
    // In Debian's initial RAM disk there is no such plugin.
    tree.makeFolder("/usr/share/initramfs-tools")
    #expect(try root(tree).opening == .passcode)
    try tree.write("/etc/crypttab", "root UUID=11 none tpm2-device=auto\n")
    #expect(try root(tree).opening == both)
  }

  @Test func `where a key file is named no plugin is asked, and the file is asked for where it is missing`() throws {
    let tree = try tree(
      crypttab: "root UUID=11 /etc/keys/root.key luks\n", slots: 2, tokens: [("systemd-tpm2", 1, "")])
    try tree.write("/usr/lib/cryptsetup/libcryptsetup-token-systemd-tpm2.so", "")
    #expect(try root(tree).opening == .passcode)
    #expect(try codes(tree).contains("latentSlot"))
  }

  @Test(arguments: ["/run/keys/data.key", "/tmp/data.key", "/dev/shm/data.key", "/var/run/data.key"])
  func `a key that some program makes at every start may be anybody's`(key: String) throws {
    let rows = "root UUID=11 none luks\ndata UUID=12 \(key) luks\n"
    let tree = try tree(crypttab: rows, fstab: "/dev/mapper/root / ext4 x 0 1\n/dev/mapper/data /home ext4 x 0 2\n")
    try tree.write("/dev/sdb1", LUKSBuilder.image(LUKSBuilder.metadata(slots: 1)))
    tree.link("/dev/disk/by-uuid/12", to: "../../sdb1")
    let door = try #require(try tree.door("volume:data"))
    #expect(door.answer == .unknown)
  }

  @Test func `the command line of the kernel counts as crypttab does`() throws {
    let uuid = "11111111-2222-4333-8444-555555555555"
    let tree = try tree(
      crypttab: "", fstab: "/dev/mapper/luks-\(uuid) / btrfs x 0 0\n", slots: 2, tokens: [("systemd-tpm2", 1, "")])
    tree.link("/dev/disk/by-uuid/\(uuid)", to: "../../sda2")
    try tree.write(
      "/boot/loader/entries/a.conf", "title x\noptions root=/dev/mapper/x rd.luks.uuid=luks-\(uuid) quiet\n")
    try addDevice(tree, "dm-0", "254:0", mapping: "luks-\(uuid)", uuid: "CRYPT-LUKS2-1-x", on: ["sda2"])
    #expect(try tree.door("volume:luks-\(uuid)")?.opening == .passcode)
    try tree.write(
      "/boot/loader/entries/a.conf", "options rd.luks.uuid=\(uuid) rd.luks.options=\(uuid)=tpm2-device=auto\n")
    #expect(try tree.door("volume:luks-\(uuid)")?.opening == Opening([.device], [.passcode]))
  }

  @Test func `every kind of token`() throws {
    let options = "tpm2-device=auto,fido2-device=auto,pkcs11-uri=auto"
    for (type, rest, opening) in [
      ("systemd-tpm2", "", Opening([.device])), ("systemd-tpm2", ",\"tpm2-pin\":true", Opening([.device, .passcode])),
      ("systemd-fido2", "", Opening([.passcode, .token])),
      ("systemd-fido2", ",\"fido2-clientPin-required\":false", Opening([.token])),
      (
        "systemd-fido2", ",\"fido2-clientPin-required\":false,\"fido2-uv-required\":true",
        Opening([.biometric, .token], [.passcode, .token])
      ),
      ("systemd-pkcs11", "", Opening([.token])), ("systemd-recovery", "", Opening([.recovery])),
    ] {
      let tree = try tree(crypttab: "root UUID=11 none \(options)\n", tokens: [(type, 0, rest)])
      #expect(try root(tree).opening == opening, "\(type) \(rest)")
    }
    let strange = try tree(tokens: [("acme-cloud", 0, "")])
    #expect(try root(strange).answer == .unknown)
  }

  @Test func `a header that cannot be read is unknown, with the reason`() throws {
    let tree = try tree()
    try tree.write("/dev/sda2", "nothing")
    let door = try root(tree)
    #expect(door.answer == .unknown && door.cause?.code == "unreadable" && door.proof?.result == .failed)
    tree.makeFIFO("/dev/pipe")
    try tree.write("/etc/crypttab", "root /dev/pipe none luks\n")
    #expect(try root(tree).answer == .unknown)
    try tree.write("/etc/crypttab", "root /dev/gone none luks\n")
    #expect(try root(tree).answer == .unknown)
    try tree.write("/etc/crypttab", "root UUID=11 none luks,try-empty-password=yes\n")
    try tree.write("/dev/sda2", LUKSBuilder.image(LUKSBuilder.metadata(slots: 1)))
    #expect(try root(tree).answer == .unknown)
    // A word that Debian's initial RAM disk does not know.
    tree.makeFolder("/usr/share/initramfs-tools")
    #expect(try root(tree).opening == .passcode)
  }

  @Test(arguments: [
    "plain", "tcrypt", "tcrypt-hidden", "tcrypt-system", "tcrypt-veracrypt", "tcrypthidden,luks", "tcryptsystem",
  ])
  func `words that say by themselves that there is no header`(option: String) throws {
    let tree = try tree(crypttab: "root UUID=11 none \(option)\n")
    try tree.write("/dev/sda2", "nothing")
    #expect(try root(tree).opening == .passcode)
  }

  @Test func `an empty passphrase opens what it was tried on, and nothing else`() {
    func opening(_ trials: Bool?..., isTried: Bool) -> Opening? {
      let slots = trials.enumerated().map { LUKSHeader.Slot(id: "\($0.offset)", opensWithNothing: $0.element) }
      var plan = UnlockPlan(key: .none)
      plan.triesEmptyPassword = isTried
      return VolumeWays(LUKSHeader(version: 2, slots: slots), plan, Place("/etc/crypttab")).opening
    }
    for isTried in [true, false] {
      #expect(opening(false, true, isTried: isTried) == .always)
      #expect(opening(nil, true, isTried: isTried) == .always)
      #expect(opening(false, false, isTried: isTried) == .passcode)
    }
    #expect(opening(false, nil, isTried: true) == nil)
    #expect(opening(false, nil, isTried: false) == .passcode)
  }

  @Test func `a data volume is shown and counts in no check`() throws {
    let tree = try tree(
      crypttab: "data UUID=11 none luks\n", fstab: "/dev/sda1 / ext4 x 0 1\n/dev/mapper/data /srv ext4 x 0 2\n")
    #expect(try tree.door("volume:data")?.counts == false)
    try tree.write("/etc/fstab", "/dev/sda1 / ext4 x 0 1\n/dev/mapper/data /home ext4 x 0 2\n")
    #expect(try tree.door("volume:data")?.counts == true)
    try tree.write("/home/alice/.ssh/id_rsa", "-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n")
    #expect(try tree.door("ssh-key:alice:.ssh/id_rsa")?.ground == .passcode)
  }

  // MARK: Homes

  @Test func `homes of systemd-homed by their storage`() throws {
    func record(_ storage: String, _ secrets: String) -> String {
      "{\"userName\":\"bob\",\"privileged\":{\(secrets)},\"binding\":{\"id\":{\"storage\":\"\(storage)\",\"uid\":60001}}}"
    }
    let password = "\"hashedPassword\":[\"$y$x\"]"
    for (storage, secrets, opening) in [
      ("luks", password, Opening.passcode), ("directory", password, .always), ("subvolume", password, .always),
      ("fscrypt", password + ",\"recoveryKey\":[{}]", Opening([.passcode], [.recovery])),
      ("luks", "\"fido2HmacSalt\":[{\"clientPin\":true}]", Opening([.passcode, .token])),
    ] {
      let tree = try FixtureTree(["/var/lib/systemd/home/bob.identity": record(storage, secrets)])
      #expect(try tree.door("home:bob")?.opening == opening, "\(storage)")
    }
    let broken = try FixtureTree(["/var/lib/systemd/home/bob.identity": "{"])
    #expect(try broken.door("home:bob")?.answer == .unknown)
  }

  @Test func `homes of fscrypt by their protectors`() throws {
    func field(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] { [number << 3 | 2, UInt8(bytes.count)] + bytes }
    func protector(source: UInt8, uid: UInt16) -> [UInt8] {
      field(1, Array("p".utf8)) + [2 << 3, source] + [6 << 3, UInt8(uid & 127) | 128, UInt8(uid >> 7)]
    }
    let policy = field(1, Array("k".utf8)) + field(3, field(1, Array("p".utf8)))
    let tree = try FixtureTree()
    try tree.addAlice()
    try tree.write("/etc/fstab", "/dev/sda1 / ext4 x 0 1\n")
    try tree.write("/.fscrypt/policies/k", policy)
    #expect(try tree.door("home:alice") == nil)
    try tree.write("/.fscrypt/protectors/p", protector(source: 1, uid: 1000))
    #expect(try tree.door("home:alice")?.opening == .passcode)
    try tree.write("/.fscrypt/policies/k", policy + field(3, field(1, Array("q".utf8))))
    try tree.write("/.fscrypt/protectors/q", protector(source: 3, uid: 0))
    #expect(try tree.door("home:alice")?.answer == .unknown)
    var generator = SplitMix(freshSeed("protobuf mutations"))
    for _ in 0..<5_000 { _ = ProtoMessage(generator.mutated(policy)) }
  }

  // MARK: Tables

  @Test func `mount tables with blanks, and rows that are none`() {
    let rows = MountTable.mountinfo(
      """
      22 1 8:1 / / rw,noatime shared:1 master:2 - ext4 /dev/sda1 rw,errors=remount-ro
      23 22 8:2 / /a\\040b rw - ext4 /dev/sda2 rw
      junk
      24 22 8:3 / /c rw shared:1

      """)
    #expect(rows.map(\.point) == ["/", "/a b"])
    #expect(rows.first?.number == "8:1" && rows.first?.source == "/dev/sda1")
    let fstab = MountTable.fstab("# x\nUUID=\"a\" / ext4\n/dev/sda2\t/b\\134c ext4 x 0 0\n#/dev/x /y z\n\n/dev/sdc\n")
    #expect(fstab.map(\.point) == ["/", "/b\\c"] && fstab.first?.source == "UUID=a")
  }

  @Test func `names of logical volumes`() {
    #expect(BlockDevices.volumeName("my-vg", "root-a") == "my--vg-root--a")
    #expect(BlockDevices.group(ofVolumeName: "my--vg-root--a") == "my-vg")
    #expect(BlockDevices.group(ofVolumeName: "vg-root") == "vg")
    #expect(BlockDevices.group(ofVolumeName: "root") == nil)
    #expect(BlockDevices.group(ofVolumeName: "--") == nil)
  }
}
