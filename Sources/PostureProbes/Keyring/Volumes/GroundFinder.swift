import Posture
import PosturePlatform

/// Finds out what a mount stands on: by sysfs where it is there, else by the known mappings and LVM's own notes.
struct GroundFinder {
  let system: System
  let devices: BlockDevices
  let mounts: MountTable
  let mappings: [Mapping]
  /// One that no row accounts for.
  let stray: Mapping?
  private let memory = Memory()

  /// What is known of each device and mount, and what is being looked at: each is looked at once, so that a stack in
  /// which everything lies on everything ends.
  private final class Memory {
    var known: [String: Ground] = [:]
    var open: Set<String> = []
  }

  init(system: System, devices: BlockDevices, mounts: MountTable, mappings: [Mapping], stray: Mapping?) {
    self.system = system
    self.devices = devices
    self.mounts = mounts
    self.mappings = mappings
    self.stray = stray
  }

  private func once(_ key: String, _ place: Place?, _ make: () -> Ground) -> Ground {
    if let ground = memory.known[key] { return ground }
    guard memory.open.insert(key).inserted else { return unknown("\(key): a loop", place) }
    defer { memory.open.remove(key) }
    let ground = make()
    memory.known[key] = ground
    return ground
  }

  /// Deeper stacks than this are loops.
  private static let mostLayers = 10
  private static let mostSlaves = 64

  func ground(of mount: MountTable.Mount, depth: Int = 0) -> Ground {
    guard depth < Self.mostLayers else { return unknown("\(mount.point): too many layers", mount.place) }
    return once("\(mount.point) from \(mount.source)", mount.place) { look(mount, depth) }
  }

  private func look(_ mount: MountTable.Mount, _ depth: Int) -> Ground {
    switch mount.type {
    case "overlay", "overlayfs", "aufs": return overlay(mount, depth)
    case "zfs", "bcachefs", "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "autofs", "tmpfs", "ramfs",
      "rootfs":
      return unknownType(mount)
    case "ecryptfs": return stacked(mount, depth)
    case _ where mount.type.hasPrefix("fuse."): return stacked(mount, depth)
    default: break
    }
    if let device = mount.number.flatMap(devices.device(number:)) ?? devices.device(source: mount.source) {
      return joined(([device] + companions(of: device, mount)).map { ground(of: $0, mount, depth) })
    }
    return byName(mount.source, mount, depth)
  }

  private func unknown(_ observed: String, _ place: Place?) -> Ground {
    .unknown(Cause("notModelled", observed: observed, evidence: place.map { [$0] }))
  }

  private func unknownType(_ mount: MountTable.Mount) -> Ground {
    unknown("\(mount.point) is a file system of type \(mount.type)", mount.place)
  }

  /// A file system over another's folder may encrypt what it writes there, or not: what holds the folder may do.
  private func stacked(_ mount: MountTable.Mount, _ depth: Int) -> Ground {
    // Several folders stand with colons between them.
    guard !mount.source.contains(":"), let host = host(of: mount.source, mount) else { return unknownType(mount) }
    let ground = ground(of: host, depth: depth + 1)
    return ground.soleMapping == nil ? unknownType(mount) : ground
  }

  /// A folder that is mounted once more, or a file that holds a file system.
  private func isCopy(_ mount: MountTable.Mount) -> Bool {
    Self.plainTypes.contains(mount.type)
      || mount.options.contains { ["bind", "rbind", "loop"].contains($0.prefix { $0 != "=" }) }
  }

  private static let plainTypes: Set = [
    "none", "auto", "swap", "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "vfat", "exfat", "ntfs", "ntfs3",
    "squashfs",
    "erofs", "iso9660", "udf",
  ]

  /// The mount that holds a folder or file which another is made of; nil for what is no such path.
  private func host(of path: String, _ mount: MountTable.Mount) -> MountTable.Mount? {
    guard path.hasPrefix("/"), !path.hasPrefix("/dev/") else { return nil }
    return mounts.mount(holding: path, except: mount.point)
  }

  // MARK: With sysfs

  private func ground(of device: BlockDevices.Device, _ mount: MountTable.Mount, _ depth: Int) -> Ground {
    guard depth < Self.mostLayers else { return unknown("\(device.name): a loop of devices", mount.place) }
    return once("device \(device.name)", mount.place) { look(device, mount, depth) }
  }

  private func look(_ device: BlockDevices.Device, _ mount: MountTable.Mount, _ depth: Int) -> Ground {
    let below = device.slaves.prefix(Self.mostSlaves).map { slave in
      devices.device(slave).map { ground(of: $0, mount, depth + 1) } ?? .plain
    }
    if device.isEncrypted, let name = device.mapping { return .mapping(name, on: joined(below)) }
    if let file = device.backingFile, let host = mounts.mount(holding: file), host != mount {
      return ground(of: host, depth: depth + 1)
    }
    return joined(below)
  }

  /// The further devices of a btrfs: mount tables name one of them.
  private func companions(of device: BlockDevices.Device, _ mount: MountTable.Mount) -> [BlockDevices.Device] {
    guard mount.type == "btrfs" else { return [] }
    let top = "/sys/fs/btrfs"
    for name in ((try? system.list(top)) ?? []).prefix(64) {
      let members = (try? system.list("\(top)/\(name)/devices")) ?? []
      if members.contains(device.name) { return members.filter { $0 != device.name }.compactMap(devices.device(_:)) }
    }
    return []
  }

  /// Each leg once, and of those that are not known one: however the legs are bundled, they are no more than there are.
  private func joined(_ legs: [Ground]) -> Ground {
    var distinct: [Ground] = []
    for leg in legs.flatMap(\.parts) where !distinct.contains(leg) {
      if leg.isUnknown, distinct.contains(where: \.isUnknown) { continue }
      distinct.append(leg)
    }
    return distinct.count > 1 ? .legs(distinct) : distinct.first ?? .plain
  }

  /// The layer that takes what is written, and those below it.
  private func overlay(_ mount: MountTable.Mount, _ depth: Int) -> Ground {
    let folders = OverlayLayers(mount.options).folders
    let hosts = folders.compactMap { mounts.mount(holding: $0) }.filter { $0.point != mount.point && $0.point != "/" }
    guard !hosts.isEmpty else { return unknown("\(mount.point) is an overlay of folders not to be seen", mount.place) }
    return joined(hosts.map { ground(of: $0, depth: depth + 1) })
  }

  // MARK: Without

  private func byName(_ source: String, _ mount: MountTable.Mount, _ depth: Int) -> Ground {
    guard let path = BlockDevices.path(ofSource: source) ?? Self.rootDevice(source, mount) else {
      return unknown("\(mount.point) comes from \(source)", mount.place)
    }
    if let host = host(of: path, mount) {
      return isCopy(mount) ? ground(of: host, depth: depth + 1) : stacked(mount, depth)
    }
    if let found = mapping(making: path) { return ground(of: found, mount, depth) }
    if BlockDevices.isEncrypted(path: path) { return hidden(mount) }
    if BlockDevices.volumeNumber(ofPath: path) != nil {
      return logicalVolume(VolumeGroup.all(system).first { $0.holds(path) }, mount, depth)
    }
    if let name = BlockDevices.mappingName(ofPath: path) {
      // A mapping of which nothing says who makes it, by a name that installers give encrypted ones.
      guard let group = BlockDevices.group(ofVolumeName: name), group != "luks" else { return hidden(mount) }
      return logicalVolume(VolumeGroup(group, system), mount, depth)
    }
    return partition(path, mount)
  }

  /// Names without a path that are the machine's own memory: the kernel's for what it starts from, and UBI's.
  private static func rootDevice(_ source: String, _ mount: MountTable.Mount) -> String? {
    source == "rootfs" || (mount.type == "ubifs" && source.hasPrefix("ubi")) ? "/dev/root" : nil
  }

  private func hidden(_ mount: MountTable.Mount) -> Ground {
    unknown("what \(mount.source) lies on does not show", mount.place)
  }

  private func mapping(making path: String) -> Mapping? { Self.mapping(making: path, system, mappings) }

  static func mapping(making path: String, _ system: System, _ mappings: [Mapping]) -> Mapping? {
    let target = system.link(path).map { Path.name(of: $0) }
    let name = BlockDevices.mappingName(ofPath: path)
    return mappings.first { mapping in
      name == mapping.name || (target == mapping.name && path.hasPrefix("/dev/disk/"))
    }
  }

  private func ground(of mapping: Mapping, _ mount: MountTable.Mount, _ depth: Int) -> Ground {
    guard depth < Self.mostLayers else { return unknown("\(mapping.name): crypttab loops", mapping.place) }
    let below = below(mapping, mount, depth)
    // What is below an encrypted layer can only add to it.
    return .mapping(mapping.name, on: below.isUnknown ? .plain : below)
  }

  private func below(_ mapping: Mapping, _ mount: MountTable.Mount, _ depth: Int) -> Ground {
    guard let path = BlockDevices.path(ofSource: mapping.source ?? "") else { return .plain }
    if let other = self.mapping(making: path) {
      return other == mapping ? .plain : ground(of: other, mount, depth + 1)
    }
    let isVolume = BlockDevices.mappingName(ofPath: path) != nil || BlockDevices.volumeNumber(ofPath: path) != nil
    return isVolume ? byName(path, mount, depth + 1) : .plain
  }

  private func logicalVolume(_ group: VolumeGroup?, _ mount: MountTable.Mount, _ depth: Int) -> Ground {
    guard let group, depth < Self.mostLayers else { return mappings.isEmpty ? .plain : hidden(mount) }
    guard !group.devices.isEmpty else { return hidden(mount) }
    return once("group \(group.name)", mount.place) { joined(group.devices.map { byName($0, mount, depth + 1) }) }
  }

  /// A partition by name or number. Where a mapping is made that no other row accounts for, the file system with this
  /// number may be the one inside.
  private func partition(_ path: String, _ mount: MountTable.Mount) -> Ground {
    if let target = system.link(path), Path.name(of: target).hasPrefix("dm-") {
      return unknown("\(mount.source) is a mapping that does not show", mount.place)
    }
    let isDirect =
      !path.hasPrefix("/dev/disk/by-uuid/") && !path.hasPrefix("/dev/disk/by-label/") && path != "/dev/root"
    guard !isDirect, system.link(path) == nil, let stray else { return .plain }
    return unknown("whether \(mount.source) is inside \(stray.name) does not show", stray.place)
  }
}
