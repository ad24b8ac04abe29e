import Posture
import PosturePlatform
@testable import PostureProbes
import TestKit
import Testing

/// Trees with an encrypted volume, for the suites about them.
protocol VolumeTrees {}

extension VolumeTrees {
  /// A tree with one LUKS2 volume on /dev/sda2, found by its number.
  func tree(
    crypttab: String? = nil, fstab: String = "/dev/mapper/root / ext4 defaults 0 1\n", slots: Int = 1,
    tokens: [(type: String, slot: Int, rest: String)] = []
  ) throws -> FixtureTree {
    let tree = try FixtureTree()
    try tree.addAlice()
    try tree.write("/etc/fstab", fstab)
    try tree.write("/etc/crypttab", crypttab ?? "root UUID=11 none luks\n")
    try tree.write("/dev/sda2", LUKSBuilder.image(LUKSBuilder.metadata(slots: slots, tokens: tokens)))
    tree.link("/dev/disk/by-uuid/11", to: "../../sda2")
    return tree
  }

  func root(_ tree: FixtureTree) throws -> Door { try #require(try tree.door("volume:root")) }

  /// Adds a block device to sysfs.
  func addDevice(
    _ tree: FixtureTree, _ name: String, _ number: String, mapping: String? = nil, uuid: String = "",
    on slaves: [String] = []
  ) throws {
    let folder = "/sys/block/\(name)"
    try tree.write("\(folder)/dev", "\(number)\n")
    tree.link("/sys/dev/block/\(number)", to: "../../block/\(name)")
    if let mapping {
      try tree.write("\(folder)/dm/name", "\(mapping)\n")
      try tree.write("\(folder)/dm/uuid", "\(uuid)\n")
    }
    for slave in slaves { tree.link("\(folder)/slaves/\(slave)", to: "../../\(slave)") }
  }

  func mountRoot(_ tree: FixtureTree, _ number: String, _ source: String, type: String = "ext4") throws {
    try tree.write("/proc/self/mountinfo", "22 1 \(number) / / rw,relatime shared:1 - \(type) \(source) rw\n")
  }

  func codes(_ tree: FixtureTree) throws -> [String] { try tree.examine().remarks.map(\.cause.code) }
}
