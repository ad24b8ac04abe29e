/// LVM's text copy of a group's metadata: what it was last seen on, and what is in it.
struct VolumeGroup: Sendable {
  let name: String
  /// As device mapper writes it, without hyphens.
  let number: String
  let devices: [String]
  /// Names of its logical volumes, those that LVM keeps for itself too, by their numbers.
  let volumes: [String: String]

  private static let folder = "/etc/lvm/backup"
  private static let most = 64

  static func all(_ system: System) -> [VolumeGroup] {
    ((try? system.list(folder)) ?? []).prefix(most).compactMap { VolumeGroup($0, system) }
  }

  init?(_ name: String, _ system: System) {
    guard let text = system.text("\(Self.folder)/\(name)") else { return nil }
    self.name = name
    var number = ""
    var devices: [String] = []
    var volumes: [String: String] = [:]
    var sections: [String] = []
    for line in text.lines() {
      let line = line.prefix { $0 != "#" }.trimmed
      if line.ends(with: "{") { sections.append(line.dropLast().trimmed) }
      if line == "}" { _ = sections.popLast() }
      let parts = line.split(separator: "\"")
      guard parts.count >= 2 else { continue }
      if parts[0].hasPrefix("device = ") { devices.append(String(parts[1])) }
      guard parts[0].hasPrefix("id = ") else { continue }
      let id = parts[1].filter { $0 != "-" }
      if sections == [name] { number = id }
      if sections.count == 3, sections[1] == "logical_volumes" { volumes[id] = sections[2] }
    }
    (self.number, self.devices, self.volumes) = (number, devices, volumes)
  }

  /// Whether a path names one of its logical volumes.
  func holds(_ path: String) -> Bool {
    if let whole = BlockDevices.volumeNumber(ofPath: path) { return !number.isEmpty && whole.hasPrefix(number) }
    return BlockDevices.mappingName(ofPath: path).flatMap(BlockDevices.group) == name
  }

  /// Whether these paths account for everything in it, so that nothing of it goes by another name.
  func isAccounted(by paths: [String]) -> Bool {
    let held = paths.filter(holds)
    let (names, numbers) = (
      Set(held.compactMap(BlockDevices.mappingName)), Set(held.compactMap(BlockDevices.volumeNumber))
    )
    return !held.isEmpty
      && volumes.allSatisfy { id, volume in
        names.contains(BlockDevices.volumeName(name[...], volume[...])) || numbers.contains(number + id)
      }
  }
}
