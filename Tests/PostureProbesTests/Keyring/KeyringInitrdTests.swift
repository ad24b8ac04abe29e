import Glibc
import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// Images of initial RAM disks: what is in them, packed in every way that kernels take.
struct KeyringInitrdTests: VolumeTrees {
  private static let files = [
    ("./etc/crypttab", "root UUID=11 /keys/root.key luks\n"), ("keys/root.key", "secret"),
    ("usr/bin/clevis-decrypt", "#!/bin/sh\n"), ("etc/cmdline.d/90crypt.conf", "rd.luks.uuid=11\n"), ("empty", ""),
  ]
  private static let names: Set = [
    "etc/crypttab", "keys/root.key", "usr/bin/clevis-decrypt", "etc/cmdline.d/90crypt.conf", "empty",
  ]

  private func read(
    _ bytes: [UInt8], limits: InitrdImage.Limits = .init()
  ) throws -> Result<InitrdContents, InitrdFault> {
    try Self.read(bytes, in: try FixtureTree(), limits: limits)
  }

  private static func read(
    _ bytes: [UInt8], in tree: FixtureTree, limits: InitrdImage.Limits = .init()
  ) throws -> Result<InitrdContents, InitrdFault> {
    try tree.overwrite("/image", bytes)
    let system = try System(root: tree.root)
    return Result { () throws(InitrdFault) in try InitrdImage.read(system, "/image", limits: limits) }
  }

  // MARK: Reading

  @Test func `an archive as it is`() throws {
    let contents = try read(InitrdBuilder.archive(Self.files)).get()
    #expect(contents.names == Self.names)
    #expect(contents.texts["etc/crypttab"] == "root UUID=11 /keys/root.key luks\n")
    // No key is taken into memory.
    #expect(Set(contents.texts.keys) == ["etc/crypttab", "etc/cmdline.d/90crypt.conf"])
  }

  @Test(.timeLimit(.minutes(2)), arguments: InitrdBuilder.packers.filter { Tools.has($0.tool) }.map(\.format))
  func `packed, behind microcode, in several parts, with padding`(format: String) throws {
    let first = InitrdBuilder.archive("kernel/x86/microcode/GenuineIntel.bin")
    let main = try InitrdBuilder.packed(InitrdBuilder.archive(Self.files), with: format)
    #expect(try read(main).get().names == Self.names)
    let both = try read(first + main).get().names
    #expect(both == Self.names.union(["kernel/x86/microcode/GenuineIntel.bin"]))
    let zeroes = [UInt8](repeating: 0, count: 1024)
    #expect(try read(first + zeroes + main).get().names == both)
    // Much more than one piece that is read at once, and more than one of those that lz4 packs.
    let filler = String(repeating: "0123456789abcdef", count: 1_200_000)
    let large = InitrdBuilder.archive([("filler", filler)] + Self.files)
    #expect(try read(InitrdBuilder.packed(large, with: format)).get().names == Self.names.union(["filler"]))
  }

  @Test func `a second compressed part counts as well`() throws {
    let one = try InitrdBuilder.packed(InitrdBuilder.archive("one"), with: "gzip")
    let two = try InitrdBuilder.packed(InitrdBuilder.archive("two"), with: "xz")
    #expect(try read(one + two).get().names == ["one", "two"])
    // One archive over two members.
    let whole = InitrdBuilder.archive(Self.files)
    let parts = try [whole[..<300], whole[300...]].map { try InitrdBuilder.packed(Array($0), with: "gzip") }
    #expect(try read(parts[0] + parts[1]).get().names == Self.names)
    // What stands behind the archives is passed over, as the kernel does.
    #expect(try read(one + Array("#BOOTCONFIG\n".utf8)).get().names == ["one"])
    #expect(try read([0x27, 0x05, 0x19, 0x56] + [UInt8](repeating: 1, count: 60) + one).get().names == ["one"])
  }

  @Test func `what is none, and what is damaged`() throws {
    #expect(try read(Array("placeholder".utf8)) == .failure(.noArchive))
    #expect(try read([UInt8](repeating: 0, count: 4096)) == .failure(.noArchive))
    #expect(try read(Array("07070100zz".utf8) + [UInt8](repeating: 0, count: 4096)) == .failure(.noArchive))
    let whole = InitrdBuilder.archive(Self.files)
    let packed = try InitrdBuilder.packed(whole, with: "gzip")
    let tree = try FixtureTree()
    for length in 1..<packed.count {
      guard case .failure = try Self.read(Array(packed.prefix(length)), in: tree) else {
        Issue.record("\(length) of \(packed.count)")
        continue
      }
    }
    // Cut within its padding it is whole.
    let end = whole.count - whole.reversed().prefix { $0 == 0 }.count
    for length in 1..<end {
      guard case .failure = try Self.read(Array(whole.prefix(length)), in: tree) else {
        Issue.record("\(length) of \(end)")
        continue
      }
    }
  }

  @Test func `limits of size and time`() throws {
    let packed = try InitrdBuilder.packed(
      InitrdBuilder.archive([("zeroes", String(repeating: "0", count: 4 << 20))]), with: "gzip")
    #expect(packed.count < 100_000)
    #expect(try read(packed, limits: .init(unpacked: 1 << 20)) == .failure(.tooLarge))
    #expect(try read(packed, limits: .init(nanoseconds: 0)) == .failure(.tooSlow))
    #expect(try read(packed, limits: .init(packed: 10)) == .failure(.tooLarge))
    let tree = try FixtureTree()
    tree.makeFIFO("/image")
    let system = try System(root: tree.root)
    #expect(throws: InitrdFault.unreadable(.notRegular)) { try InitrdImage.read(system, "/image") }
    #expect(throws: InitrdFault.unreadable(.missing)) { try InitrdImage.read(system, "/gone") }
  }

  @Test(.timeLimit(.minutes(2))) func `no mutation crashes the reader`() throws {
    var generator = SplitMix(freshSeed("initrd mutations"))
    let whole = InitrdBuilder.archive(Self.files)
    let seeds =
      [whole]
      + (try InitrdBuilder.packers.filter { Tools.has($0.tool) }.map {
        try InitrdBuilder.packed(whole, with: $0.format)
      })
    let tree = try FixtureTree()
    var read = 0
    for round in 0..<(Long.isWanted ? 20_000 : 1_000) {
      if case .success = try Self.read(generator.mutated(seeds[round % seeds.count]), in: tree) { read += 1 }
    }
    print("still an image after mutation: \(read)")
  }

  // MARK: Which one

  @Test func `the newest image, and not the one for rescue`() throws {
    #expect(InitrdFinder.isOlder("initrd.img-6.9.0", "initrd.img-6.10.0"))
    #expect(!InitrdFinder.isOlder("initrd.img-6.10.0", "initrd.img-6.9.0"))
    #expect(InitrdFinder.isOlder("initramfs-linux", "initramfs-linux2"))
    let tree = try FixtureTree([
      "/boot/initramfs-6.9.1.img": "x", "/boot/initramfs-6.10.1.img": "x", "/boot/initramfs-0-rescue-99.img": "x",
      "/boot/initramfs-7.0-fallback.img": "x", "/boot/initramfs-8.0.img": "",
    ])
    func found() throws -> String? { InitrdFinder(system: try System(root: tree.root)).find() }
    #expect(try found() == "/boot/initramfs-6.10.1.img")
    tree.link("/boot/initrd.img", to: "initramfs-6.9.1.img")
    #expect(try found() == "/boot/initrd.img")
    try tree.write("/boot/loader/entries/a-6.9.conf", "initrd /old\n")
    try tree.write("/boot/loader/entries/a-6.10.conf", "title x\ninitrd /intel-ucode.img\ninitrd /a/6.10/initrd\n")
    try tree.write("/boot/a/6.10/initrd", "x")
    try tree.write("/boot/intel-ucode.img", "x")
    #expect(try found() == "/boot/a/6.10/initrd")
    try tree.write("/proc/sys/kernel/osrelease", "6.9.1\n")
    #expect(try found() == "/boot/initramfs-6.9.1.img")
    let bare = try FixtureTree()
    #expect(InitrdFinder(system: try System(root: bare.root)).find() == nil)
  }

  // MARK: Remembered

  @Test func `an image that has not changed is not unpacked again`() throws {
    let tree = try FixtureTree()
    var memory = InitrdMemory()
    var reads = 0
    func found() throws -> InitrdMemory.Found {
      let system = try System(root: tree.root)
      return memory.found(system, "/image", section: nil) {
        reads += 1
        return InitrdMemory.Found { () throws(InitrdFault) in
          InitrdDigest(try InitrdImage.read(system, "/image"))
        }
      }
    }
    try tree.write("/image", InitrdBuilder.archive("one"))
    // Just now it may still be written to.
    for _ in 0..<2 { #expect(try found().get().holds("/one")) }
    #expect(reads == 2)
    memory = InitrdMemory(settling: -1)
    for _ in 0..<3 { #expect(try found().get().holds("/one")) }
    #expect(reads == 3)
    // Time stamps are as fine as the kernel's clock ticks.
    usleep(20_000)
    try tree.overwrite("/image", InitrdBuilder.archive("two"))
    #expect(try found().get().holds("/two"))
    #expect(try !found().get().holds("/one"))
    unlink(tree.place("/image"))
    #expect(try found() == .failure(.unreadable(.missing)))
  }

  // MARK: What it decides

  private let plugin = "usr/lib/x86_64-linux-gnu/cryptsetup/libcryptsetup-token-systemd-tpm2.so"

  @Test func `a key in the image opens the volume, whatever crypttab says`() throws {
    let tree = try tree(fstab: "/dev/mapper/root / ext4 x 0 1\n/dev/sda1 /boot ext4 x 0 1\n")
    #expect(try root(tree).opening == .passcode)
    let debian = [
      ("conf/initramfs.conf", ""), ("cryptroot/crypttab", "root UUID=11 /cryptroot/keyfiles/root.key luks\n"),
      ("cryptroot/keyfiles/root.key", "k"),
    ]
    try tree.write("/boot/initrd.img-6.1", InitrdBuilder.packed(InitrdBuilder.archive(debian), with: "gzip"))
    let door = try root(tree)
    #expect(door.opening == .always && door.cause?.code == "keyFileBesideLock")
    #expect(door.because.contains { $0.code == "crypttab.keyFile" && $0.place == Place("/boot/initrd.img-6.1") })
    #expect(try codes(tree).contains("initrdDiffers"))
    // On the encrypted volume itself the boot loader has asked.
    try tree.write("/etc/fstab", "/dev/mapper/root / ext4 x 0 1\n")
    #expect(try root(tree).opening == .passcode)
  }

  @Test func `a key that did not make it into the image is asked for`() throws {
    let tree = try tree(crypttab: "root UUID=11 /etc/keys/root.key luks\n")
    try tree.write("/etc/keys/root.key", "k")
    try tree.write("/etc/fstab", "/dev/mapper/root / ext4 x 0 1\n/dev/sda1 /boot ext4 x 0 1\n")
    // Nothing but settings says what is in it.
    for (settings, opening) in [
      ("install_items+=\" /etc/x /etc/keys/root.key \"\n", Opening.always),
      ("install_optional_items+=\" /etc/keys/root.key \"\n", .always),
      ("install_items=\" \\\n  /etc/x \\\n  /etc/keys/root.key \"\n", .always),
      ("install_items=\" /etc/x \"\n/etc/keys/root.key\n", .passcode),
      ("my_install_items=\"/etc/keys/root.key\"", .passcode),
      ("install_items+=\" /etc/keys/root.key \"\n", .always),
    ] {
      try tree.write("/etc/dracut.conf.d/key.conf", settings)
      #expect(try root(tree).opening == opening, "\(settings)")
    }
    try tree.write(
      "/boot/initramfs-6.1.img", InitrdBuilder.archive([("etc/crypttab", "root UUID=11 /etc/keys/root.key luks\n")]))
    #expect(try root(tree).opening == .passcode)
    try tree.write("/boot/initramfs-6.1.img", InitrdBuilder.archive("etc/keys/root.key"))
    #expect(try root(tree).opening == .always)
  }

  @Test(arguments: [
    ("HOOKS=(base systemd sd-encrypt)\n", true), ("HOOKS=(\n  base systemd # early\n  sd-encrypt\n)\n", true),
    ("HOOKS=(base systemd\n)\nsd-encrypt\n", false), ("#HOOKS=(\n#  sd-encrypt\n#)\nHOOKS=(base)\n", false),
  ])
  func `hooks of mkinitcpio, on one line or several`(settings: String, isThere: Bool) throws {
    let tree = try tree(slots: 2, tokens: [("systemd-tpm2", 1, "")])
    try tree.write("/\(plugin)", "")
    try tree.write("/etc/mkinitcpio.conf", settings)
    #expect(try root(tree).opening == (isThere ? Opening([.device], [.passcode]) : .passcode))
  }

  @Test func `plugins and clevis count by what is in the image`() throws {
    let tokens = [("systemd-tpm2", 1, ",\"tpm2-pcrs\":[7]")]
    let tree = try tree(slots: 2, tokens: tokens)
    try tree.write("/\(plugin)", "")
    #expect(try root(tree).opening == Opening([.device], [.passcode]))
    try tree.write("/boot/initrd.img-6.1", InitrdBuilder.archive("usr/bin/true"))
    #expect(try root(tree).opening == .passcode)
    #expect(try codes(tree).contains("latentSlot"))
    try tree.write("/boot/initrd.img-6.1", InitrdBuilder.archive(plugin))
    #expect(try root(tree).opening == Opening([.device], [.passcode]))
    // Debian's scripts ask no plugin.
    try tree.write("/boot/initrd.img-6.1", InitrdBuilder.archive(plugin, "conf/arch.conf"))
    #expect(try root(tree).opening == .passcode)

    let pin = Base64URL.encode(Array(#"{"clevis":{"pin":"tpm2","tpm2":{}}}"#.utf8))
    let clevis = try self.tree(slots: 2, tokens: [("clevis", 1, ",\"jwe\":{\"protected\":\"\(pin)\"}")])
    try clevis.write("/usr/lib/dracut/modules.d/60clevis/module-setup.sh", "")
    #expect(try root(clevis).opening == Opening([.device], [.passcode]))
    try clevis.write("/boot/initramfs-6.1.img", InitrdBuilder.archive("usr/bin/true"))
    #expect(try root(clevis).opening == .passcode)
    try clevis.write("/boot/initramfs-6.1.img", InitrdBuilder.archive("usr/bin/clevis-decrypt"))
    #expect(try root(clevis).opening == Opening([.device], [.passcode]))
  }

  @Test func `an image that cannot be read is unknown, one that is none is passed over`() throws {
    let tree = try tree()
    // The start of what lzop makes.
    try tree.write("/boot/initrd.img-6.1", [0x89, 0x4C, 0x5A, 0x4F, 0x00, 0x0D, 0x0A, 0x1A, 0x0A, 0x10])
    #expect(try root(tree).cause?.observed.contains("lzop") == true && root(tree).answer == .unknown)
    try tree.write("/boot/initrd.img-6.1", "placeholder")
    let door = try root(tree)
    #expect(door.opening == .passcode && door.because.last == Reason("initrd.noArchive", file: "/boot/initrd.img-6.1"))
    try tree.makeSparse("/boot/initrd.img-6.1", size: 600 << 20)
    let unread = try root(tree)
    #expect(unread.answer == .unknown && unread.cause?.observed.contains("too large") == true)
    // What is open anyway stays so.
    try tree.write("/etc/crypttab", "root UUID=11 none tpm2-device=auto\n")
    try tree.write(
      "/dev/sda2", LUKSBuilder.image(LUKSBuilder.metadata(slots: 1, tokens: [("systemd-tpm2", 0, "")])))
    #expect(try root(tree).opening == Opening([.device]))
  }

  @Test func `volumes that are made by the image alone`() throws {
    let tree = try tree(crypttab: "", fstab: "/dev/mapper/secret / ext4 x 0 1\n/dev/sda1 /boot ext4 x 0 1\n")
    #expect(try tree.door("volume:root")?.answer == .unknown)
    try tree.write("/boot/initrd.img-6.1", InitrdBuilder.archive([("etc/crypttab", "secret UUID=11 none luks\n")]))
    #expect(try tree.door("volume:secret")?.opening == .passcode)
    #expect(try tree.door("volume:secret")?.holdsSystem == true)
    let uuid = "11111111-2222-4333-8444-555555555555"
    tree.link("/dev/disk/by-uuid/\(uuid)", to: "../../sda2")
    try tree.write("/etc/fstab", "/dev/mapper/luks-\(uuid) / ext4 x 0 1\n/dev/sda1 /boot ext4 x 0 1\n")
    try tree.write(
      "/boot/initrd.img-6.1",
      InitrdBuilder.archive([("etc/cmdline.d/90.conf", "rd.luks.uuid=luks-\(uuid) rd.luks.key=/k\n"), ("k", "k")]))
    #expect(try tree.door("volume:luks-\(uuid)")?.opening == .always)
  }

  @Test func `a unified kernel brings its own`() throws {
    let uuid = "11111111-2222-4333-8444-555555555555"
    let tree = try tree(
      crypttab: "", fstab: "/dev/mapper/luks-\(uuid) / ext4 x 0 1\n", slots: 2, tokens: [("systemd-tpm2", 1, "")])
    tree.link("/dev/disk/by-uuid/\(uuid)", to: "../../sda2")
    let image = InitrdBuilder.unified([
      (".osrel", Array("ID=arch\n".utf8)),
      (".cmdline", Array("rd.luks.uuid=\(uuid) rd.luks.options=tpm2-device=auto\0".utf8)),
      (".initrd", try InitrdBuilder.packed(InitrdBuilder.archive(plugin), with: "gzip")),
    ])
    try tree.write("/efi/EFI/Linux/arch.efi", image)
    let system = try System(root: tree.root)
    #expect(UnifiedKernel(system, "/efi/EFI/Linux/arch.efi")?.commandLine?.hasPrefix("rd.luks.uuid=") == true)
    #expect(try tree.door("volume:luks-\(uuid)")?.opening == Opening([.device], [.passcode]))
    var generator = SplitMix(freshSeed("unified kernels"))
    for _ in 0..<500 {
      try tree.overwrite("/efi/EFI/Linux/arch.efi", generator.mutated(Array(image.prefix(512))))
      _ = UnifiedKernel(system, "/efi/EFI/Linux/arch.efi")
    }
  }

  // MARK: A real one

  /// In a mount namespace of its own, where /boot has the configuration of a kernel that takes every compression.
  @Test(
    .enabled(if: Long.isWanted && geteuid() == 0 && Tools.has("/usr/sbin/mkinitramfs", "/usr/bin/unshare")),
    .timeLimit(.minutes(5)))
  func `what mkinitramfs makes is read, in every compression`() throws {
    let folder = try Folder()
    let formats = ["gzip", "xz", "zstd", "lz4"].filter { Tools.has("/usr/bin/\($0)") }
    let script = """
      cd \(folder.path); mkdir -p boot conf/conf.d conf/hooks conf/scripts; cp -r /etc/initramfs-tools/. conf/
      for name in GZIP XZ ZSTD LZ4; do echo CONFIG_RD_$name=y; done > boot/config-6.1.0-test
      cat > conf/hooks/key <<'END'
      #!/bin/sh
      [ "$1" = prereqs ] && exit 0
      mkdir -p $DESTDIR/cryptroot/keyfiles
      echo 'root UUID=11 /cryptroot/keyfiles/root.key luks' > $DESTDIR/cryptroot/crypttab
      echo k > $DESTDIR/cryptroot/keyfiles/root.key
      END
      chmod 755 conf/hooks/key; mount --bind boot /boot
      for format in \(formats.joined(separator: " ")); do
        mkinitramfs -d \(folder.file("conf")) -c $format -o image.$format 6.1.0-test
      done
      """
    try Tools.run("/usr/bin/unshare", ["-m", "/bin/sh", "-ec", script], timeout: 200_000)
    for format in formats {
      let system = try System(root: folder.path)
      let began = Clock.processNanoseconds
      let contents = try InitrdImage.read(system, "/image.\(format)")
      let spent = (Clock.processNanoseconds - began) / 1_000_000
      let size = try system.status("/image.\(format)").size
      print("mkinitramfs with \(format): \(size) bytes, \(contents.names.count) names, read in \(spent) ms of CPU")
      #expect(contents.names.contains("cryptroot/keyfiles/root.key") && contents.names.contains("conf/initramfs.conf"))
      #expect(contents.texts["cryptroot/crypttab"]?.hasPrefix("root UUID=11") == true)
    }
  }
}
