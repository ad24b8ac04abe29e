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
    case "zfs", "bcachefs", "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "fuse.sshfs", "tmpfs", "ramfs",
      "rootfs", "ecryptfs":
      return unknown("\(mount.point) is a file system of type \(mount.type)", mount.place)
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
    let folders = mount.options.flatMap { option -> [String] in
      let value = option.split(separator: "=", maxSplits: 1).last ?? ""
      if option.hasPrefix("upperdir=") { return [String(value)] }
      return option.hasPrefix("lowerdir=") ? value.split(separator: ":").map(String.init) : []
    }
    let hosts = folders.compactMap { mounts.mount(holding: $0) }.filter { $0.point != mount.point && $0.point != "/" }
    guard !hosts.isEmpty else { return unknown("\(mount.point) is an overlay of folders not to be seen", mount.place) }
    return joined(hosts.map { ground(of: $0, depth: depth + 1) })
  }

  // MARK: Without

  private func byName(_ source: String, _ mount: MountTable.Mount, _ depth: Int) -> Ground {
    guard let path = BlockDevices.path(ofSource: source) ?? (source == "/dev/root" ? source : nil) else {
      return unknown("\(mount.point) comes from \(source)", mount.place)
    }
    if let found = mapping(making: path) { return ground(of: found, mount, depth) }
    if path.hasPrefix("/dev/mapper/") { return logicalVolume(Path.name(of: path), mount, depth) }
    let parts = path.split(separator: "/")
    if parts.count == 3, parts[1] != "disk", parts[1] != "block", parts[1] != "md", parts[0] == "dev" {
      return logicalVolume(BlockDevices.volumeName(parts[1], parts[2]), mount, depth)
    }
    return partition(path, mount)
  }

  private func mapping(making path: String) -> Mapping? { Self.mapping(making: path, system, mappings) }

  static func mapping(making path: String, _ system: System, _ mappings: [Mapping]) -> Mapping? {
    let target = system.link(path).map { Path.name(of: $0) }
    return mappings.first { mapping in
      path == "/dev/mapper/\(mapping.name)" || (path == "/dev/disk/by-id/dm-name-\(mapping.name)")
        || (target == mapping.name && path.hasPrefix("/dev/disk/"))
    }
  }

  private func ground(of mapping: Mapping, _ mount: MountTable.Mount, _ depth: Int) -> Ground {
    guard depth < Self.mostLayers else { return unknown("\(mapping.name): crypttab loops", mapping.place) }
    // What is below an encrypted layer can only add to it.
    guard let path = BlockDevices.path(ofSource: mapping.source ?? ""), let below = self.mapping(making: path),
      below != mapping
    else { return .mapping(mapping.name, on: .plain) }
    return .mapping(mapping.name, on: ground(of: below, mount, depth + 1))
  }

  /// LVM keeps a text copy of each group's metadata, with the devices that it was last seen on.
  private func logicalVolume(_ name: String, _ mount: MountTable.Mount, _ depth: Int) -> Ground {
    let hidden = unknown("what \(mount.source) lies on does not show", mount.place)
    // A mapping of which nothing says who makes it, by a name that installers give encrypted ones.
    guard let group = BlockDevices.group(ofVolumeName: name), group != "luks" else { return hidden }
    guard let notes = system.text("/etc/lvm/backup/\(group)"), depth < Self.mostLayers else {
      return mappings.isEmpty ? .plain : hidden
    }
    let legs = notes.lines().compactMap { line -> String? in
      let words = line.trimmed.split(separator: "\"")
      return words.count >= 2 && words[0].hasPrefix("device = ") ? String(words[1]) : nil
    }
    guard !legs.isEmpty else { return hidden }
    return once("group \(group)", mount.place) { joined(legs.map { byName($0, mount, depth + 1) }) }
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
