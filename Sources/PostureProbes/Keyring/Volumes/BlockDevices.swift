import PosturePlatform

/// The block devices of the examined system, as sysfs shows them.
final class BlockDevices {
  struct Device: Hashable, Sendable {
    /// The kernel's name: `dm-0`, `nvme0n1p3`.
    var name: String
    /// `major:minor`.
    var number: String
    /// Device mapper's name and uuid: `CRYPT-LUKS2-…`, `LVM-…`.
    var mapping: String?
    var uuid: String?
    /// What it is made of.
    var slaves: [String]
    /// The file behind a loop device.
    var backingFile: String?

    /// The mapping encrypts what is below it. dm-verity calls itself CRYPT too, and only checks.
    var isEncrypted: Bool {
      guard let uuid else { return false }
      return uuid.hasPrefix("CRYPT-") && !uuid.hasPrefix("CRYPT-VERITY") && !uuid.hasPrefix("CRYPT-INTEGRITY")
        && !uuid.hasPrefix("CRYPT-SUBDEV")
    }
  }

  private let system: System
  private let folders: [String: String]
  private var known: [String: Device] = [:]

  /// More devices than a machine has: the rest is passed over.
  private static let most = 4096

  init(_ system: System) {
    self.system = system
    var folders: [String: String] = [:]
    // A tree may hold one part of sysfs and not the other.
    for top in ["/sys/block", "/sys/class/block"] where folders.isEmpty {
      for disk in ((try? system.list(top)) ?? []).prefix(Self.most) { folders[disk] = "\(top)/\(disk)" }
    }
    for number in ((try? system.list("/sys/dev/block")) ?? []).prefix(Self.most) {
      let place = "/sys/dev/block/\(number)"
      guard let name = system.link(place).map({ Path.name(of: $0) }), name.hasPrefix("dm-") else { continue }
      folders[name] = folders[name] ?? place
    }
    self.folders = folders
  }

  var isEmpty: Bool { folders.isEmpty }

  /// Every device that device mapper made.
  var mappings: [Device] { folders.keys.sorted().compactMap { $0.hasPrefix("dm-") ? device($0) : nil } }

  func device(_ name: String) -> Device? {
    if let device = known[name] { return device }
    guard !name.isEmpty, !name.contains("/"), let folder = folder(name), let number = line("\(folder)/dev") else {
      return nil
    }
    let isMapping = name.hasPrefix("dm-")
    let device = Device(
      name: name, number: number, mapping: isMapping ? line("\(folder)/dm/name") : nil,
      uuid: isMapping ? line("\(folder)/dm/uuid") : nil,
      slaves: (try? system.list("\(folder)/slaves")) ?? [],
      backingFile: name.hasPrefix("loop") ? line("\(folder)/loop/backing_file") : nil)
    known[name] = device
    return device
  }

  func device(number: String) -> Device? {
    system.link("/sys/dev/block/\(number)").flatMap { device(Path.name(of: $0)) }
  }

  func device(mapping: String) -> Device? { mappings.first { $0.mapping == mapping } }

  /// The device that a source of fstab or crypttab names, as far as it is there.
  func device(source: String) -> Device? {
    guard let path = Self.path(ofSource: source) else { return nil }
    if let device = Self.mappingName(ofPath: path).flatMap(device(mapping:)) { return device }
    if let target = system.link(path), let device = device(Path.name(of: target)) { return device }
    return device(Path.name(of: path)).flatMap { path == "/dev/\($0.name)" ? $0 : nil }
  }

  /// The disk that a partition is on, by the kernel's names; nil for what is neither of the two.
  func disk(ofSource source: String) -> String? {
    guard let device = device(source: source) else { return diskByName(source) }
    if folders[device.name] != nil { return device.name }
    return folders.first { system.exists("\($0.value)/\(device.name)/dev") }?.key
  }

  /// Where sysfs does not show it.
  private func diskByName(_ source: String) -> String? {
    guard let path = Self.path(ofSource: source) else { return nil }
    let name = Path.name(of: system.link(path) ?? path)
    return system.link(path) != nil || path == "/dev/\(name)" ? Self.disk(ofPartition: name) : nil
  }

  /// `sda` for sda3, `nvme0n1` for nvme0n1p2, a disk for itself; nil for what is no name of a disk.
  static func disk(ofPartition name: String) -> String? {
    let stem = name.prefix { !$0.isNumber }
    let rest = name.dropFirst(stem.count)
    if ["sd", "hd", "vd", "xvd"].contains(where: { stem.hasPrefix($0) && stem.count > $0.count }) {
      return rest.allSatisfy(\.isNumber) ? String(stem) : nil
    }
    guard ["nvme", "mmcblk"].contains(String(stem)) else { return nil }
    return String(name.prefix(upTo: name.lastIndex(of: "p") ?? name.endIndex))
  }

  /// The path of `UUID=…` and its like below /dev/disk; a path as it is; nil for what is no device.
  static func path(ofSource source: String) -> String? {
    let folders = [
      "UUID=": "by-uuid", "LABEL=": "by-label", "PARTUUID=": "by-partuuid", "PARTLABEL=": "by-partlabel",
      "ID=": "by-id",
    ]
    for (tag, folder) in folders where source.hasPrefix(tag) {
      let value = source.dropFirst(tag.count)
      return value.isEmpty || value.contains("/") ? nil : "/dev/disk/\(folder)/\(value)"
    }
    return source.hasPrefix("/") ? source : nil
  }

  private static let byName = "/dev/disk/by-id/dm-name-"
  private static let byNumber = "/dev/disk/by-id/dm-uuid-"

  /// Device mapper's name of what a path names: /dev/mapper/NAME, /dev/GROUP/VOLUME, or udev's links.
  static func mappingName(ofPath path: String) -> String? {
    if path.hasPrefix(byName) { return String(path.dropFirst(byName.count)) }
    if path.hasPrefix("\(byNumber)CRYPT-") {
      // CRYPT-LUKS2-NUMBER-NAME, CRYPT-PLAIN-NAME
      let parts = path.dropFirst(byNumber.count).split(separator: "-", maxSplits: 3)
      return parts.count == 4 && parts[2].count == 32
        ? String(parts[3]) : parts.dropFirst(2).joined(separator: "-")
    }
    let parts = path.split(separator: "/")
    guard parts.count == 3, parts[0] == "dev", !["disk", "block", "md"].contains(parts[1]) else { return nil }
    return parts[1] == "mapper" ? String(parts[2]) : volumeName(parts[1], parts[2])
  }

  /// The number of a logical volume behind that of its group, where a path names it by those.
  static func volumeNumber(ofPath path: String) -> String? {
    let prefix = "\(byNumber)LVM-"
    return path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : nil
  }

  static func isEncrypted(path: String) -> Bool { path.hasPrefix("\(byNumber)CRYPT-") }

  /// Device mapper's name of a logical volume: a hyphen within a name is doubled.
  static func volumeName(_ group: Substring, _ volume: Substring) -> String {
    [group, volume].map { $0.split(separator: "-", omittingEmptySubsequences: false).joined(separator: "--") }
      .joined(separator: "-")
  }

  /// The group of a logical volume's device mapper name.
  static func group(ofVolumeName name: String) -> String? {
    let marked = name.split(separator: "-", omittingEmptySubsequences: false)
    guard let cut = marked.indices.dropFirst().first(where: { !marked[$0].isEmpty && !marked[$0 - 1].isEmpty }) else {
      return nil
    }
    return marked[..<cut].joined(separator: "-").split(separator: "-").joined(separator: "-")
  }

  private func folder(_ name: String) -> String? {
    if let folder = folders[name] { return folder }
    let direct = "/sys/class/block/\(name)"
    if system.exists("\(direct)/dev") { return direct }
    return folders.values.map { "\($0)/\(name)" }.first { system.exists("\($0)/dev") }
  }

  private func line(_ path: String) -> String? {
    guard let text = system.text(path)?.trimmed, !text.isEmpty else { return nil }
    return text
  }
}
