import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// What a mount lies on by the names that tables and LVM's notes give, without sysfs.
struct KeyringGroundTests: VolumeTrees {
  private static let number = "11111111222243338444555555555555"
  private static let root = "/dev/mapper/root / ext4 x 0 1\n"

  /// A group with one device, and the volumes that are in it.
  private func notes(_ device: String, _ volumes: String...) -> String {
    let sections = volumes.map { "    \($0) {\n      id = \"\($0)-1\"\n      segment1 {\n      }\n    }\n" }.joined()
    return """
      contents = "Text Format Volume Group"
      vg {
        id = "vg00-11"
        physical_volumes {
          pv0 {
            id = "x"
            device = "\(device)"\t# Hint only
          }
        }
        logical_volumes {
      \(sections)  }
      }

      """
  }

  // MARK: Links of udev

  @Test(arguments: [
    ("dm-name-data", "data", Answer.required), ("dm-uuid-CRYPT-LUKS2-\(number)-data", "data", .required),
    ("dm-uuid-CRYPT-PLAIN-data", "data", .required), ("dm-uuid-CRYPT-LUKS2-\(number)-vg-other", "root", .unknown),
    ("dm-name-vg-root", "data", .required), ("dm-uuid-LVM-vg0011root1", "data", .required),
    ("dm-uuid-LVM-other1root1", "root", .unknown),
  ])
  func `device mapper's own names`(link: String, volume: String, answer: Answer) throws {
    for source in ["/dev/disk/by-id/\(link)", "ID=\(link)"] {
      let tree = try tree(crypttab: "data UUID=11 none luks\n", fstab: "\(source) / ext4 x 0 1\n")
      try tree.write("/etc/lvm/backup/vg", notes("/dev/mapper/data", "root"))
      #expect(try tree.doors().first { $0.holdsSystem }?.name == "volume:\(volume)", "\(source)")
      #expect(try tree.door("volume:\(volume)")?.answer == answer, "\(source)")
    }
  }

  @Test func `a logical volume by its number alone`() throws {
    let source = "/dev/disk/by-id/dm-uuid-LVM-abc / ext4 x 0 1\n"
    #expect(try root(FixtureTree(["/etc/fstab": source])).opening == .always)
    #expect(try root(tree(fstab: source)).answer == .unknown)
  }

  // MARK: Paths

  @Test(arguments: [
    ("/data/home /home none bind 0 0", "data"), ("/data/home /home none rbind,nofail 0 0", "data"),
    ("/data/home.img /home ext4 loop 0 0", "data"), ("/data/home.img /home xfs defaults 0 0", "data"),
    ("/srv/home /home none bind 0 0", "root"), ("/home /home none bind 0 0", "root"),
    ("/data/.home /home fuse.gocryptfs x 0 0", "data"), ("/data/.home /home ecryptfs x 0 0", "data"),
  ])
  func `a folder or a file that is mounted lies on what holds it`(row: String, volume: String) throws {
    let rows = "root UUID=11 none luks\ndata UUID=11 none luks\n"
    let tree = try tree(crypttab: rows, fstab: Self.root + "/dev/mapper/data /data ext4 x 0 2\n\(row)\n")
    let doors = try tree.doors().filter(\.counts)
    #expect(Set(doors.map(\.name)) == ["volume:root", "volume:\(volume)"])
    #expect(doors.allSatisfy { $0.opening == .passcode })
  }

  @Test(arguments: [
    ("/srv/.home /home fuse.gocryptfs x 0 0", Answer.unknown), ("/srv/.home /home gocryptfs x 0 0", .unknown),
    ("host:/home /home fuse.sshfs x 0 0", .unknown), ("/srv/.home /home ecryptfs x 0 0", .unknown),
    ("/srv/home /home none bind 0 0", .notRequired), ("/srv/home.img /home ext4 loop 0 0", .notRequired),
  ])
  func `over a plain one a file system that may encrypt is unknown`(row: String, answer: Answer) throws {
    let tree = try FixtureTree(["/etc/fstab": "/dev/sda1 / ext4 x 0 1\n\(row)\n"])
    try tree.addAlice()
    #expect(try tree.door("volume:home")?.answer == answer)
  }

  @Test(arguments: ["/srv/a:/mnt/b /home fuse.mergerfs x 0 0", "/etc/auto.home /home autofs x 0 0"])
  func `what comes from elsewhere does not lie on the root`(row: String) throws {
    #expect(try tree(fstab: Self.root + row + "\n").door("volume:home")?.answer == .unknown)
  }

  @Test(.timeLimit(.minutes(1))) func `folders that lie on each other end`() throws {
    let tree = try FixtureTree(["/etc/fstab": "/home/b /home none bind 0 0\n/home/b /home/b none bind 0 0\n"])
    try tree.addAlice()
    #expect(try tree.door("volume:home")?.answer == .unknown)
  }

  // MARK: Overlays

  @Test(arguments: [
    "lowerdir+=/run/image,datadir+=/sysroot/ostree/repo/objects", "lowerdir=/run/image::/sysroot/ostree/repo/objects",
    "lowerdir=/sysroot/a:/sysroot/b", "lowerdir+=/sysroot/a,lowerdir+=/sysroot/b",
  ])
  func `an overlay lies on the layers that hold data`(options: String) throws {
    let tree = try tree(fstab: "UUID=77 / btrfs subvol=root 0 0\n")
    try tree.write(
      "/proc/self/mountinfo",
      """
      61 1 0:35 / / ro,relatime shared:1 - overlay composefs ro,\(options),metacopy=on
      62 61 0:33 / /sysroot ro - btrfs /dev/mapper/root ro,subvol=/root
      66 61 0:25 / /run rw - tmpfs tmpfs rw

      """)
    #expect(try tree.doors().filter(\.counts).map(\.name) == ["volume:root"])
    #expect(try root(tree).opening == .passcode && root(tree).holdsSystem)
  }

  // MARK: Names

  @Test(arguments: [
    // A mapping keeps its name, whatever lies on it; what has none of its own goes by its mount point.
    ("root", "/dev/sda1 / ext4 x 0 1\n/dev/mapper/root /home ext4 x 0 2\n", "/", "root"),
    ("home", "/dev/mapper/home / ext4 x 0 1\n/dev/sda3 /home ext4 x 0 2\n", "home", "/home"),
    ("data", "/dev/sda1 / ext4 x 0 1\n/dev/sda3 /root ext4 x 0 2\n", "root", "/root"),
    ("data", "/dev/sda1 / ext4 x 0 1\n/dev/mapper/data /home ext4 x 0 2\n", "root", "data"),
  ])
  func `a name stands for one row, and the ground says which holds the system`(
    mapping: String, fstab: String, system: String, other: String
  ) throws {
    let doors = try tree(crypttab: "\(mapping) UUID=11 none luks\n", fstab: fstab).doors()
    #expect(doors.filter(\.counts).map(\.name).sorted() == [system, other].map { "volume:\($0)" }.sorted())
    #expect(doors.filter(\.holdsSystem).map(\.name) == ["volume:\(system)"])
  }

  @Test func `a system on several mappings is held by each of them`() throws {
    let rows = "root UUID=11 none luks\nroot2 UUID=11 none luks\n"
    let tree = try tree(crypttab: rows, fstab: "/dev/vg/system / ext4 x 0 1\n")
    let group = notes("/dev/mapper/root", "system")
    try tree.write(
      "/etc/lvm/backup/vg",
      group.replacing("logical_volumes", with: "more {\n device = \"/dev/mapper/root2\"\n }\n logical_volumes"))
    #expect(try tree.doors().map(\.name) == ["volume:root", "volume:root2", "volume:/"])
    #expect(try tree.doors().filter(\.holdsSystem).map(\.name) == ["volume:root", "volume:root2"])
  }

  @Test func `an encrypted volume inside another lies on both`() throws {
    let sealed = [(type: "systemd-tpm2", slot: 0, rest: "")]
    let tree = try tree(
      crypttab: "root UUID=11 none tpm2-device=auto\nhome /dev/vg/home none luks\n",
      fstab: "/dev/vg/root / ext4 x 0 1\n/dev/mapper/home /home ext4 x 0 2\n", tokens: sealed)
    try tree.write("/etc/lvm/backup/vg", notes("/dev/mapper/root", "root", "home"))
    try tree.write("/dev/vg/home", LUKSBuilder.image(LUKSBuilder.metadata(slots: 1)))
    try tree.write("/home/alice/.ssh/id_rsa", "-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n")
    #expect(try tree.door("volume:home")?.opening == .passcode)
    #expect(try tree.door("ssh-key:alice:.ssh/id_rsa")?.ground == Opening([.device, .passcode]))
    #expect(try !codes(tree).contains("passcodeBoundPortable"))
  }

  // MARK: What no row names

  @Test func `a mapping that a mounted group of volumes is on is no stray`() throws {
    let tree = try tree(
      crypttab: "a UUID=11 none luks\n", fstab: "/dev/vg/root / ext4 x 0 1\nUUID=77 /home ext4 x 0 2\n")
    func home(_ notes: String) throws -> Answer? {
      try tree.write("/etc/lvm/backup/vg", notes)
      return try tree.door("volume:home")?.answer
    }
    #expect(try home(notes("/dev/mapper/a", "root")) == .notRequired)
    // What has no row by its own name may be the one with that number.
    #expect(try home(notes("/dev/mapper/a", "root", "home")) == .unknown)
    #expect(try home(notes("/dev/sdb1", "root")) == .unknown)
  }
}
