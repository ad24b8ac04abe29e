import Posture
import PosturePlatform

/// The encrypted volumes of the system, and what each mount lies on.
final class Volumes {
  let system: System
  let distribution: Distribution
  let mounts: MountTable
  let crypttab: [CrypttabEntry]
  let mappings: [Mapping]
  /// Tables that could not be used.
  let gaps: [Gap]
  let devices: BlockDevices
  let initialRAMDisk: InitialRAMDisk
  let commandLine: KernelCommandLine
  /// Homes of the people of this system.
  private let homes: [String]
  private var grounds: [String: Ground] = [:]
  private var doors: [String: (door: Door, remarks: [Cause])] = [:]
  /// Mappings whose ways are being looked for: one that comes up again needs itself.
  private var open: Set<String> = []

  init(_ system: System, _ distribution: Distribution, _ accounts: Accounts) {
    self.system = system
    self.distribution = distribution
    mounts = MountTable(system)
    devices = BlockDevices(system)
    initialRAMDisk = InitialRAMDisk(system)
    let line = KernelCommandLine(system)
    let (rows, gaps) = Crypttab.read(system)
    crypttab = rows
    self.gaps = gaps + mounts.gaps
    homes = accounts.people.map(\.home).filter { $0.hasPrefix("/") && $0 != "/" }
    let found = Self.mappings(crypttab, line, devices)
    // Unpacking takes its time: where nothing is encrypted, or nothing early, nobody needs to know what is in it.
    if Self.isMissing(found, mounts, devices) {
      commandLine = line.adding(initialRAMDisk.commandLine)
      mappings = Self.mappings(crypttab + initialRAMDisk.crypttab, commandLine, devices)
    } else {
      commandLine = line
      mappings = found
    }
  }

  /// The system lies on a mapping that no file of its own makes.
  private static func isMissing(_ mappings: [Mapping], _ mounts: MountTable, _ devices: BlockDevices) -> Bool {
    mounts.mounts.contains { mount in
      earlyPoints.contains(mount.point) && mount.source.hasPrefix("/dev/mapper/")
        && devices.device(source: mount.source) == nil
        && !mappings.contains { mount.source == "/dev/mapper/\($0.name)" }
    }
  }

  private static func mappings(
    _ crypttab: [CrypttabEntry], _ commandLine: KernelCommandLine, _ devices: BlockDevices
  ) -> [Mapping] {
    var found = crypttab.reduce(into: [Mapping]()) { found, entry in
      if found.contains(where: { $0.name == entry.name }) { return }
      found.append(Mapping(name: entry.name, entry: entry, source: entry.source, place: entry.place))
    }
    for (name, source) in commandLine.mappings
    where !found.contains(where: { $0.name == name || $0.source == source }) {
      found.append(Mapping(name: name, source: source, place: commandLine.place))
    }
    for device in devices.mappings where device.isEncrypted {
      guard let name = device.mapping else { continue }
      if let known = found.firstIndex(where: { $0.name == name }) {
        found[known].uuid = device.uuid
        continue
      }
      found.append(
        Mapping(
          name: name, source: device.slaves.first.map { "/dev/\($0)" }, uuid: device.uuid,
          place: Place("/sys/block/\(device.name)/dm/uuid")))
    }
    return found
  }

  /// A mapping that no row of fstab accounts for, nor a group of logical volumes that is mounted.
  private lazy var stray: Mapping? = {
    let paths = (mounts.fstab + mounts.swaps).compactMap { BlockDevices.path(ofSource: $0.source) }
    let groups = VolumeGroup.all(system).filter { $0.isAccounted(by: paths) }
    let used = Set(
      (paths + groups.flatMap(\.devices)).compactMap { GroundFinder.mapping(making: $0, system, mappings) })
    return mappings.first { mapping in
      if let entry = mapping.entry, entry.isThrowAway || entry.has("swap") { return false }
      return !used.contains(mapping)
    }
  }()

  func mapping(_ name: String) -> Mapping? { mappings.first { $0.name == name } }

  func ground(of mount: MountTable.Mount) -> Ground {
    let key = "\(mount.point) \(mount.source)"
    if let known = grounds[key] { return known }
    let finder = GroundFinder(system: system, devices: devices, mounts: mounts, mappings: mappings, stray: stray)
    let ground = finder.ground(of: mount)
    grounds[key] = ground
    return ground
  }

  // MARK: What opens what

  /// The row of an encrypted volume, and what is worth a remark about it.
  func door(of mapping: Mapping) -> (door: Door, remarks: [Cause]) {
    if let known = doors[mapping.name] { return known }
    guard open.insert(mapping.name).inserted else {
      // Its key lies on itself, or on one that waits for it.
      return (Door("volume:\(mapping.name)", .secret, "*", nil, because: [Reason("volume.loop", mapping.place)]), [])
    }
    defer { open.remove(mapping.name) }
    let found = VolumeDoor(self, mapping).look()
    doors[mapping.name] = found
    return found
  }

  /// What opens the volumes that a file lies on; nothing does where no table says what that is. nil: not known.
  func opening(ofPath path: String) -> Opening? {
    guard let mount = mounts.mount(holding: path) else { return .always }
    return opening(of: ground(of: mount))
  }

  /// Of several devices the weakest counts, as each gives a part away.
  func opening(of ground: Ground) -> Opening? {
    switch ground {
    case .plain: return .always
    case .unknown: return nil
    case .mapping(let name, let below):
      let own = mapping(name).flatMap { door(of: $0).door.opening }
      guard let deeper = opening(of: below) else { return own }
      return own?.and(deeper)
    case .legs(let legs):
      let openings = legs.map(opening)
      if openings.contains(.always) { return .always }
      if openings.contains(nil) { return nil }
      return openings.compactMap { $0 }.reduce(.never) { $0.or($1) }
    }
  }

  /// Opened before the real root is there.
  func isEarly(_ mapping: Mapping) -> Bool {
    if mapping.entry?.isInInitrd == true { return true }
    if mapping.entry == nil, mapping.uuid == nil { return true }
    return mounts.mounts.contains {
      Self.earlyPoints.contains($0.point) && ground(of: $0).mappings.contains(mapping.name)
    }
  }

  // MARK: The initial RAM disk

  /// The command line with what the initial RAM disk adds to it.
  private(set) lazy var initialCommandLine = commandLine.adding(initialRAMDisk.commandLine)

  /// The row for a volume in the initial RAM disk's own crypttab.
  func initialRow(of mapping: Mapping) -> CrypttabEntry? {
    let rows = initialRAMDisk.crypttab
    return rows.first { $0.name == mapping.name } ?? rows.first { isSame($0.source, mapping.source ?? "") }
  }

  /// Two ways to name one device.
  func isSame(_ one: String, _ other: String) -> Bool {
    if one == other { return true }
    guard let left = BlockDevices.path(ofSource: one), let right = BlockDevices.path(ofSource: other) else {
      return false
    }
    if left == right { return true }
    if let a = devices.device(source: one), let b = devices.device(source: other) { return a == b }
    let targets = [left, right].map { system.link($0).map { Path.name(of: $0) } ?? Path.name(of: $0) }
    return targets[0] == targets[1]
  }

  // MARK: What is where

  private static let earlyPoints: Set = ["/", "/usr"]
  /// Mount points that hold the system itself.
  private static let systemPoints = ["/", "/usr", "/var", "/etc", "/opt", "/nix"]

  func holdsSystemOrHomes(_ mount: MountTable.Mount) -> Bool {
    Self.systemPoints.contains(mount.point) || ["/home", "/root", "/var/home"].contains(mount.point)
      || homes.contains { MountTable.isInside($0, mount.point) || MountTable.isInside(mount.point, $0) }
  }

  /// `root` for "/", `home` for "/home", `var-log` for "/var/log".
  static func name(ofPoint point: String) -> String {
    point == "/" ? "root" : point.split(separator: "/").joined(separator: "-")
  }
}
