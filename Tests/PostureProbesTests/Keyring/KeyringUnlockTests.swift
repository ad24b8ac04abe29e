import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// How the system goes about unlocking: options of crypttab, words for the kernel, keys of every make.
struct KeyringUnlockTests: VolumeTrees {
  private let uuid = "11111111-2222-4333-8444-555555555555"
  private let both = Opening([.device], [.passcode])
  private let tpm = [(type: "systemd-tpm2", slot: 1, rest: ",\"tpm2-pcrs\":[7]")]

  /// A tree whose volume has a whole number for a name.
  private func numbered(crypttab: String, slots: Int = 2, line: String = "") throws -> FixtureTree {
    let tree = try tree(crypttab: crypttab.replacing("#", with: uuid), slots: slots, tokens: slots > 1 ? tpm : [])
    tree.link("/dev/disk/by-uuid/\(uuid)", to: "../../sda2")
    try tree.write("/proc/cmdline", line.replacing("#", with: uuid) + "\n")
    return tree
  }

  // MARK: Headers

  @Test func `a header over data that is not encrypted`() throws {
    let sound = LUKSBuilder.metadata(slots: 1)
    for (part, other) in [
      ("\"type\":\"crypt\"", "\"type\":\"linear\""),
      ("\"type\":\"crypt\"", "\"type\":\"crypt\",\"encryption\":\"cipher_null-ecb\""),
      ("\"area\":{", "\"area\":{\"encryption\":\"cipher_null-ecb\","),
    ] {
      let tree = try tree()
      try tree.write("/dev/sda2", LUKSBuilder.image(sound.replacing(part, with: other)))
      let door = try root(tree)
      #expect(door.opening == .always && door.cause?.code == "volumeNotEncrypted", "\(other)")
    }
    let backup = sound.replacing(
      "\"size\":\"dynamic\"}", with: "\"size\":\"dynamic\"},\"1\":{\"type\":\"linear\",\"flags\":[\"backup-final\"]}")
    let tree = try tree()
    try tree.write("/dev/sda2", LUKSBuilder.image(backup))
    #expect(try root(tree).opening == .passcode)
  }

  @Test func `a detached header by any name`() throws {
    let tree = try tree(crypttab: "root /dev/sdb none luks,header=/dev/disk/by-uuid/11\n")
    #expect(try root(tree).opening == .passcode)
    try tree.write("/etc/crypttab", "root /dev/sdb none luks,header=UUID=11\n")
    #expect(try root(tree).opening == .passcode)
    let line = try numbered(crypttab: "", line: "rd.luks.name=#=root rd.luks.options=#=header=/boot/luks.hdr")
    try line.write("/dev/sda2", "nothing")
    try line.write("/boot/luks.hdr", LUKSBuilder.image(LUKSBuilder.metadata(slots: 1)))
    #expect(try root(line).opening == .passcode)
  }

  @Test func `GRUB's own token`() throws {
    let tree = try tree(slots: 2, tokens: [("grub-tpm2", 1, "")])
    #expect(try root(tree).opening == both)
    try tree.write("/boot/grub2/grub.cfg", "cryptomount -u 11\n")
    #expect(try root(tree).opening == .passcode)
    #expect(try codes(tree).contains("latentSlot"))
    try tree.write("/boot/grub2/grub.cfg", "cryptomount -u 11 -P tpm2\n")
    #expect(try root(tree).opening == both)
    for folder in ["/boot/efi/EFI/sles", "/efi/EFI/debian"] {
      try tree.write("/boot/grub2/grub.cfg", "normal\n")
      try tree.write("\(folder)/grub.cfg", "cryptomount -u 11 --protector tpm2\n")
      #expect(try root(tree).opening == both)
      try tree.write("\(folder)/grub.cfg", "configfile /grub2/grub.cfg\n")
      #expect(try root(tree).opening == .passcode)
    }
  }

  @Test func `clevis' null pin hides nothing, and is no server`() throws {
    for (pin, code) in [("null", "openSecret"), ("tang", "keyFromNetwork")] {
      let header = Base64URL.encode(Array("{\"clevis\":{\"pin\":\"\(pin)\"}}".utf8))
      let tree = try tree(slots: 2, tokens: [("clevis", 1, ",\"jwe\":{\"protected\":\"\(header)\"}")])
      try tree.write("/usr/bin/clevis-luks-unlock", "")
      let door = try root(tree)
      #expect(door.opening == .always && door.cause?.code == code, "\(pin)")
    }
  }

  // MARK: Options

  @Test func `without a head nobody is asked`() throws {
    for (options, slots, opening) in [
      ("headless=yes", 1, Opening.never), ("headless", 2, Opening([.device])), ("headless=no", 2, both),
      ("headless=true", 2, Opening([.device])),
    ] {
      let tree = try tree(
        crypttab: "root UUID=11 none \(options),tpm2-device=auto\n", slots: slots, tokens: slots > 1 ? tpm : [])
      #expect(try root(tree).opening == opening, "\(options)")
    }
    let pin = try tree(
      crypttab: "root UUID=11 none headless=1,tpm2-device=auto\n",
      tokens: [("systemd-tpm2", 0, ",\"tpm2-pin\":true")])
    #expect(try root(pin).opening == .never)
  }

  @Test func `a key file that is sealed to a device is no key by itself`() throws {
    for (options, opening) in [
      ("tpm2-device=auto,tpm2-pcrs=7", Opening([.device])),
      ("tpm2-device=auto,tpm2-pin=yes", Opening([.device, .passcode])),
      ("pkcs11-uri=auto", Opening([.token])), ("fido2-device=auto,fido2-cid=AAAA", Opening([.passcode, .token])),
      ("discard", .always),
    ] {
      let tree = try tree(
        crypttab: "data UUID=11 /etc/data.key \(options)\n",
        fstab: "/dev/sda1 / ext4 x 0 1\n/dev/mapper/data /home ext4 x 0 2\n")
      try tree.write("/etc/data.key", "sealed")
      #expect(try tree.door("volume:data")?.opening == opening, "\(options)")
    }
  }

  @Test func `Arch's crypttab for its initial RAM disk comes first`() throws {
    let tree = try tree(crypttab: "root UUID=11 none luks\n", slots: 2, tokens: tpm)
    try tree.write("/etc/crypttab.initramfs", "root UUID=11 - tpm2-device=auto\n")
    #expect(try root(tree).opening == both)
    #expect(try root(tree).because.first?.place == Place("/etc/crypttab.initramfs", line: 1))
  }

  @Test func `a key script that prints a file is a key file`() throws {
    let tree = try tree(crypttab: "root UUID=11 /boot/key luks,initramfs,keyscript=/bin/cat\n")
    try tree.write("/etc/fstab", "/dev/mapper/root / ext4 x 0 1\n/dev/sda1 /boot ext4 x 0 1\n")
    try tree.write("/boot/key", "k")
    #expect(try root(tree).opening == .always)
    try tree.write(
      "/etc/crypttab", "root UUID=11 none luks,initramfs,keyscript=/usr/share/yubikey-luks/ykluks-keyscript\n")
    #expect(try root(tree).opening == Opening([.passcode, .token]))
  }

  @Test func `a key on another partition of the same disk is always there`() throws {
    let tree = try tree(crypttab: "root UUID=11 /key:UUID=22 luks\n")
    #expect(try root(tree).opening == Opening([.token]))
    for (disk, part, number) in [("sda", "sda2", "8:2"), ("sda", "sda3", "8:3"), ("sdb", "sdb1", "8:17")] {
      try tree.write("/sys/block/\(disk)/dev", "8:0\n")
      try tree.write("/sys/block/\(disk)/\(part)/dev", "\(number)\n")
    }
    tree.link("/dev/disk/by-uuid/22", to: "../../sdb1")
    #expect(try root(tree).opening == Opening([.token]))
    let same = try self.tree(crypttab: "root UUID=11 /key:UUID=22 luks\n")
    for part in ["sda2", "sda3"] { try same.write("/sys/block/sda/\(part)/dev", "8:\(part.last!)\n") }
    try same.write("/sys/block/sda/dev", "8:0\n")
    same.link("/dev/disk/by-uuid/22", to: "../../sda3")
    #expect(try root(same).opening == .always)
  }

  @Test func `a key device that is mounted under another name`() throws {
    let tree = try tree(
      crypttab: "root UUID=11 /key:LABEL=boot luks\n",
      fstab: "/dev/mapper/root / ext4 x 0 1\nUUID=22 /boot ext4 x 0 1\n")
    #expect(try root(tree).opening == Opening([.token]))
    tree.link("/dev/disk/by-label/boot", to: "../../sda1")
    tree.link("/dev/disk/by-uuid/22", to: "../../sda1")
    #expect(try root(tree).opening == .always)
  }

  @Test(arguments: [
    ("/dev/disk/by-uuid/22:/keys/root.key", Opening.always), ("/dev/disk/by-uuid/22:/keys/root.key:10", .always),
    ("/dev/disk/by-uuid/33:/keys/root.key", Opening([.token])), ("none", Opening([.token])),
  ])
  func `a key on the machine's own boot partition, by Debian's script`(key: String, opening: Opening) throws {
    let tree = try tree(
      crypttab: "root UUID=11 \(key) luks,initramfs,keyscript=passdev\n",
      fstab: "/dev/mapper/root / ext4 x 0 1\nUUID=22 /boot ext4 x 0 2\n")
    #expect(try root(tree).opening == opening)
  }

  @Test(arguments: [
    ("/media/stick vfat noauto,user", Opening([.token])), ("/media/stick vfat noauto,x-systemd.automount", .always),
    ("/boot vfat noauto", .always), ("/media/stick vfat nofail", .always),
  ])
  func `a medium that fstab leaves to a person is put in`(row: String, opening: Opening) throws {
    let tree = try tree(
      crypttab: "root UUID=11 /key:LABEL=stick luks\n",
      fstab: "/dev/mapper/root / ext4 x 0 1\nLABEL=stick \(row) 0 0\n")
    #expect(try root(tree).opening == opening)
    let observed = try root(tree).cause?.observed
    #expect(observed == (opening == .always ? "/key:LABEL=stick is readable with the disk alone" : nil))
  }

  @Test func `bytes of a disk are a key, without sysfs by the kernel's names`() throws {
    for (device, opening) in [("/dev/sda", Opening.always), ("/dev/sdb", Opening([.token])), ("UUID=11", .always)] {
      let field = try tree(
        crypttab: "root UUID=11 \(device.replacing("UUID=", with: "/dev/disk/by-uuid/")) luks,keyfile-offset=512\n")
      #expect(try root(field).opening == opening, "\(device)")
      let word = try numbered(crypttab: "", slots: 1, line: "cryptdevice=UUID=#:root cryptkey=\(device):2048:2048")
      #expect(try root(word).opening == opening, "\(device)")
    }
    for (name, disk) in [
      ("sda3", "sda"), ("sda", "sda"), ("xvda1", "xvda"), ("nvme0n1p2", "nvme0n1"), ("nvme0n1", "nvme0n1"),
      ("mmcblk0p1", "mmcblk0"), ("dm-0", nil), ("sd", nil), ("", nil),
    ] { #expect(BlockDevices.disk(ofPartition: name) == disk, "\(name)") }
  }

  // MARK: Words for the kernel

  @Test func `words with a number replace the options of crypttab, words for all reach only volumes without a row`()
    throws
  {
    for (row, line, opening) in [
      ("none discard", "", Opening.passcode), ("none discard", "rd.luks.options=#=tpm2-device=auto", both),
      ("none discard", "luks.options=#=tpm2-device=auto", both),
      ("none discard", "rd.luks.options=tpm2-device=auto", .passcode),
      ("none tpm2-device=auto", "rd.luks.options=#=discard", .passcode),
      ("none tpm2-device=auto", "rd.luks.options=00000000-2222-4333-8444-555555555555=discard", both),
      ("none tpm2-device=auto", "rd.luks.crypttab=no rd.luks.uuid=#", .passcode),
      ("none tpm2-device=auto", "luks.crypttab=0", .passcode), ("none tpm2-device=auto", "rd.luks.crypttab=yes", both),
      ("none tpm2-device=auto", "luks.crypttab=no rd.luks.options=#=tpm2-device=auto", both),
      ("none discard", "luks=no rd.luks.options=#=tpm2-device=auto", .passcode),
    ] {
      let tree = try numbered(crypttab: "root UUID=# \(row)\n", line: line)
      #expect(try root(tree).opening == opening, "\(row) | \(line)")
    }
  }

  /// As systemd's generator has it: by UUID=, by udev's link, else by the name.
  @Test func `a row is meant by its own words, and keeps its key file`() throws {
    let options = "rd.luks.options=#=tpm2-device=auto"
    for (name, source, line, opening) in [
      ("luks-#", "/dev/sda2", options, both), ("root", "/dev/sda2", options, Opening.passcode),
      ("root", "/dev/disk/by-uuid/#", options, both),
      ("luks-#", "UUID=#", "rd.luks.uuid=# rd.luks.key=#=/keyfile:UUID=AAAA-BBBB", .passcode),
    ] {
      let name = name.replacing("#", with: uuid)
      let tree = try numbered(crypttab: "\(name) \(source) none -\n", line: line)
      try tree.write("/etc/fstab", "/dev/mapper/\(name) / ext4 x 0 1\n")
      #expect(try tree.door("volume:\(name)")?.opening == opening, "\(name) \(source) | \(line)")
    }
    let bare = try numbered(crypttab: "", line: "rd.luks.uuid=# rd.luks.key=#=/keyfile:UUID=AAAA-BBBB")
    try bare.write("/etc/fstab", "/dev/mapper/luks-\(uuid) / ext4 x 0 1\n")
    #expect(try bare.door("volume:luks-\(uuid)")?.opening?.sets.contains(FactorSet(.token)) == true)
  }

  @Test func `words for the initial RAM disk say nothing about later volumes`() throws {
    let fstab = "/dev/sda1 / ext4 x 0 1\n/dev/mapper/data /home ext4 x 0 2\n"
    for (line, opening) in [
      ("rd.luks.options=#=tpm2-device=auto", Opening.passcode), ("luks.options=#=tpm2-device=auto", both),
    ] {
      let tree = try numbered(crypttab: "data UUID=# none luks\n", line: line)
      try tree.write("/etc/fstab", fstab)
      #expect(try tree.door("volume:data")?.opening == opening, "\(line)")
    }
  }

  @Test func `Debian's scripts read no such words`() throws {
    let tree = try numbered(crypttab: "root UUID=# none luks\n", line: "rd.luks.options=#=tpm2-device=auto")
    tree.makeFolder("/usr/share/initramfs-tools")
    #expect(try root(tree).opening == .passcode)
  }

  @Test func `volumes that the command line alone makes, without sysfs`() throws {
    for (line, name, opening) in [
      ("rd.luks.uuid=luks-#", "luks-\(uuid)", Opening.passcode), ("rd.luks.name=#=cryptroot", "cryptroot", .passcode),
      ("rd.luks.name=#=cryptroot rd.luks.options=tpm2-device=auto", "cryptroot", both),
      ("cryptdevice=UUID=#:cryptroot:allow-discards root=/dev/mapper/cryptroot", "cryptroot", .passcode),
      ("rd.luks=yes rd.luks.uuid=#", "luks-\(uuid)", .passcode),
      ("cryptroot=UUID=# cryptdm=alpine", "alpine", .passcode), ("crypt_root=UUID=#", "root", .passcode),
    ] {
      let tree = try numbered(crypttab: "", line: line)
      try tree.write("/etc/fstab", "/dev/mapper/\(name) / ext4 x 0 1\n")
      let door = try #require(try tree.door("volume:\(name)"), "\(line)")
      #expect(door.opening == opening && door.holdsSystem && door.counts, "\(line)")
      #expect(try tree.doors().filter { $0.name.hasPrefix("volume:") }.count == 1, "\(line)")
    }
  }

  @Test func `the command line is read wherever a boot loader keeps it`() throws {
    for (path, text) in [
      ("/boot/grub/grub.cfg", "menuentry 'x' {\n  linux /vmlinuz root=/dev/mapper/a rd.luks.name=#=a\n}\n"),
      ("/boot/grub2/grub.cfg", "\tlinux /vmlinuz rd.luks.name=#=a\n"),
      ("/boot/extlinux/extlinux.conf", "LABEL x\n  APPEND rd.luks.name=#=a quiet\n"),
      ("/boot/cmdline.txt", "rd.luks.name=#=a\n"), ("/etc/kernel/cmdline", "rd.luks.name=#=a\n"),
      ("/etc/default/grub", "GRUB_CMDLINE_LINUX=\"rd.luks.name=#=a\"\n"),
      ("/boot/loader/entries/x.conf", "title x\noptions quiet\noptions rd.luks.name=#=a\n"),
    ] {
      let tree = try tree(crypttab: "", fstab: "/dev/mapper/a / ext4 x 0 1\n")
      tree.link("/dev/disk/by-uuid/\(uuid)", to: "../../sda2")
      try tree.write(path, text.replacing("#", with: uuid))
      #expect(try tree.door("volume:a")?.opening == .passcode, "\(path)")
    }
  }

  @Test func `the key that Arch's and Alpine's scripts look for by themselves`() throws {
    let boot = "/dev/mapper/a / ext4 x 0 1\n/dev/sda1 /boot ext4 x 0 1\n"
    let arch = try numbered(crypttab: "", slots: 1, line: "cryptdevice=UUID=#:a")
    try arch.write("/etc/fstab", boot)
    #expect(try arch.door("volume:a")?.opening == .passcode)
    try arch.write("/etc/mkinitcpio.conf", "FILES=(/crypto_keyfile.bin)\nHOOKS=(base encrypt)\n")
    #expect(try arch.door("volume:a")?.opening == .always)
    try arch.write("/etc/mkinitcpio.conf", "FILES=(\n  /crypto_keyfile.bin # key\n)\nHOOKS=(base encrypt)\n")
    #expect(try arch.door("volume:a")?.opening == .always)
    // With /boot in the volume itself the boot loader asks.
    try arch.write("/etc/fstab", "/dev/mapper/a / ext4 x 0 1\n")
    #expect(try arch.door("volume:a")?.opening == .passcode)
    let alpine = try numbered(crypttab: "", slots: 1, line: "cryptroot=UUID=# cryptdm=a")
    try alpine.write("/etc/fstab", boot)
    try alpine.write("/etc/mkinitfs/mkinitfs.conf", "features=\"base ext4 cryptsetup cryptkey\"\n")
    #expect(try alpine.door("volume:a")?.opening == .always)
  }

  @Test func `an open mapping tells its number by itself`() throws {
    let tree = try numbered(crypttab: "", line: "rd.luks.options=#=tpm2-device=auto")
    try addDevice(tree, "sda2", "8:2")
    try addDevice(
      tree, "dm-0", "254:0", mapping: "root", uuid: "CRYPT-LUKS2-\(uuid.replacing("-", with: ""))-root", on: ["sda2"])
    try mountRoot(tree, "254:0", "/dev/mapper/root")
    #expect(try root(tree).opening == both)
  }

  // MARK: Grounds

  @Test func `sysfs in whichever half a tree has`() throws {
    for top in ["/sys/class/block", "/sys/devices/virtual/block"] {
      let tree = try tree(crypttab: "")
      try tree.write("\(top)/dm-0/dev", "254:0\n")
      try tree.write("\(top)/dm-0/dm/name", "root\n")
      try tree.write("\(top)/dm-0/dm/uuid", "CRYPT-LUKS2-11-root\n")
      tree.link("/sys/dev/block/254:0", to: "../..\(top.dropFirst("/sys".count))/dm-0")
      try mountRoot(tree, "254:0", "/dev/mapper/root")
      #expect(try root(tree).opening != .always, "\(top)")
    }
  }

  @Test func `every device of a btrfs counts`() throws {
    let tree = try tree(crypttab: "a UUID=11 none luks\n", fstab: "/dev/mapper/a / btrfs x 0 0\n")
    try addDevice(tree, "sda2", "8:2")
    try addDevice(tree, "sdb1", "8:17")
    try addDevice(tree, "dm-0", "254:0", mapping: "a", uuid: "CRYPT-LUKS2-11-a", on: ["sda2"])
    try mountRoot(tree, "0:30", "/dev/mapper/a", type: "btrfs")
    tree.link("/sys/fs/btrfs/77/devices/dm-0", to: "../../../../block/dm-0")
    #expect(try tree.door("volume:a")?.holdsSystem == true)
    tree.link("/sys/fs/btrfs/77/devices/sdb1", to: "../../../../block/sdb1")
    #expect(try root(tree).opening == .always)
  }

  @Test func `a mapping that nobody accounts for is not taken for plain`() throws {
    for source in ["/dev/mapper/cryptroot", "/dev/mapper/luks-\(uuid)"] {
      let tree = try FixtureTree(["/etc/fstab": "\(source) / ext4 x 0 1\n"])
      #expect(try root(tree).answer == .unknown, "\(source)")
    }
    for source in ["/dev/mapper/vg-root", "/dev/fedora/root", "/dev/md0", "/dev/md/0", "/dev/nvme0n1p2"] {
      let tree = try FixtureTree(["/etc/fstab": "\(source) / ext4 x 0 1\n"])
      #expect(try root(tree).opening == .always, "\(source)")
    }
  }

  @Test func `a name stands for one row`() throws {
    // The file system's own number says nothing about what it is in.
    let tree = try tree(fstab: "UUID=aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee / ext4 x 0 1\n")
    #expect(try tree.doors().map(\.name) == ["volume:root"])
    #expect(try root(tree).answer == .unknown)
  }

  // MARK: Stacks and tables that are none

  @Test(.timeLimit(.minutes(1)), arguments: ["LVM-", "CRYPT-LUKS2-11-"])
  func `devices of which each lies on all the others end`(uuid: String) throws {
    let tree = try tree(crypttab: "")
    let names = (0..<40).map { "dm-\($0)" }
    for (number, name) in names.enumerated() {
      try addDevice(
        tree, name, "254:\(number)", mapping: "m\(number)", uuid: "\(uuid)\(number)", on: names.filter { $0 != name })
    }
    try mountRoot(tree, "254:0", "/dev/mapper/m0")
    let began = Clock.processNanoseconds
    let open = try tree.doors().filter { $0.counts && $0.name.hasPrefix("volume:") && $0.opening == .always }
    #expect(open.isEmpty)
    #expect(Clock.processNanoseconds - began < 20_000_000_000)
  }

  @Test(.timeLimit(.minutes(1))) func `groups and overlays of which each lies on all the others end`() throws {
    let tree = try tree(crypttab: "x UUID=11 none luks\n", fstab: "/dev/g0/y / ext4 x 0 1\n")
    for number in 0..<30 {
      let notes = (0..<30).map { "device = \"/dev/g\($0)/y\"\n" }.joined()
      try tree.write("/etc/lvm/backup/g\(number)", notes)
    }
    #expect(try root(tree).answer == .unknown)
    let layers = (0..<30).map { "/l\($0)" }.joined(separator: ":")
    let rows = (0..<30).map { "1 1 0:\($0) / /l\($0) rw - overlay o rw,lowerdir=\(layers),upperdir=/l0\n" }
    try tree.write("/proc/self/mountinfo", "1 1 0:99 / / rw - overlay o rw,lowerdir=\(layers)\n" + rows.joined())
    #expect(try root(tree).answer == .unknown)
  }

  @Test(.timeLimit(.minutes(1))) func `tables of more rows than a system has end soon, and nothing is sure`() throws {
    let began = Clock.processNanoseconds
    for (path, text) in [
      ("/etc/crypttab", (0..<1_100).map { "r\($0) /dev/x\($0) none\n" }.joined()),
      ("/etc/fstab", (0..<5_000).map { "UUID=\($0) /home/alice/\($0) ext4 x 0 1\n" }.joined()),
      ("/proc/self/mountinfo", (0..<5_000).map { "1 1 0:1 / /home/alice/\($0) rw - ext4 UUID=\($0) rw\n" }.joined()),
    ] {
      let tree = try tree()
      try tree.write(path, text)
      let gaps = try tree.examine().gaps.filter { $0.checks.contains(.disk) }
      #expect(gaps.map(\.cause.observed) == ["\(path) is too large"], "\(path)")
    }
    let words = (0..<2_000).map { "rd.luks.name=00000000-0000-4000-8000-\($0 + 100_000_000_000)=n\($0)" }
    let tree = try tree(crypttab: "")
    try tree.write("/proc/cmdline", words.joined(separator: " "))
    _ = try tree.examine()
    // A debug build takes some 20 times what a release build does.
    #expect(Clock.processNanoseconds - began < 20_000_000_000)
  }

  @Test func `a crypttab that cannot be read is not the same as none`() throws {
    let tree = try FixtureTree(["/etc/fstab": "/dev/sda1 / ext4 x 0 1\n"])
    func result() throws -> CheckResult? {
      Judge.evidence(of: try tree.examine(), under: .stolen).checks.first { $0.name == .disk }?.result
    }
    #expect(try result() == .fail)
    try tree.write("/etc/fstab", "/dev/mapper/root / ext4 x 0 1\n")
    tree.makeFIFO("/etc/crypttab")
    #expect(try result() == .notRun)
    #expect(try tree.examine().gaps.map(\.cause.observed) == ["/etc/crypttab is no regular file"])
  }
}
