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
