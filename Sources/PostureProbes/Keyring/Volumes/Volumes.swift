import Posture

/// The encrypted volumes of the system, and what each mount lies on.
final class Volumes {
  let system: System
  let distribution: Distribution
  let mounts: MountTable
  let crypttab: [CrypttabEntry]
  let mappings: [Mapping]
  let devices: BlockDevices
  /// Homes of the people of this system.
  private let homes: [String]
  private var grounds: [String: Ground] = [:]

  init(_ system: System, _ distribution: Distribution, _ accounts: Accounts) {
    self.system = system
    self.distribution = distribution
    mounts = MountTable(system)
    devices = BlockDevices(system)
    crypttab = Crypttab.parse(system.text(Crypttab.path) ?? "")
    homes = accounts.people.map(\.home).filter { $0.hasPrefix("/") && $0 != "/" }
    mappings = Self.mappings(crypttab, devices)
  }

  private static func mappings(_ crypttab: [CrypttabEntry], _ devices: BlockDevices) -> [Mapping] {
    var found = crypttab.map { Mapping(name: $0.name, entry: $0, source: $0.source, place: $0.place) }
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

  func mapping(_ name: String) -> Mapping? { mappings.first { $0.name == name } }

  func ground(of mount: MountTable.Mount) -> Ground {
    if let known = grounds[mount.point] { return known }
    let finder = GroundFinder(system: system, devices: devices, mounts: mounts, crypttab: crypttab)
    let ground = finder.ground(of: mount)
    grounds[mount.point] = ground
    return ground
  }

  // MARK: What is where

  /// Mount points that hold the system itself.
  private static let systemPoints = ["/", "/usr", "/var", "/etc", "/opt", "/nix"]

  func holdsSystemOrHomes(_ mount: MountTable.Mount) -> Bool {
    Self.systemPoints.contains(mount.point) || ["/home", "/root", "/var/home"].contains(mount.point)
      || homes.contains { MountTable.isInside($0, mount.point) || MountTable.isInside(mount.point, $0) }
  }

  /// The door of the volume that `path` lies on; nil where nothing says what that is.
  func door(holding path: String) -> String? { mounts.mount(holding: path).map(doorName) }

  func doorName(_ mount: MountTable.Mount) -> String {
    if let sole = ground(of: mount).soleMapping { return "volume:\(sole)" }
    return "volume:\(Self.name(ofPoint: mount.point))"
  }

  /// `root` for "/", `home` for "/home", `var-log` for "/var/log".
  static func name(ofPoint point: String) -> String {
    point == "/" ? "root" : point.split(separator: "/").joined(separator: "-")
  }
}
