import Posture

/// `group:<name>`: groups whose members are as good as root, without any proof.
enum GroupDoors {
  /// One such group, and what has to be there for it to matter.
  private struct Kind {
    let group: String
    /// Programs and files, any of which will do.
    let programs: [String]
    let files: [String]
    /// Units, without suffix, a mask of which all takes the group its power.
    let services: [String]
  }

  private static let kinds = [
    Kind(
      group: "docker", programs: ["dockerd", "docker-containerd"],
      files: ["/run/docker.sock", "/var/run/docker.sock", "/snap/bin/dockerd", "/var/snap/docker"],
      services: ["docker"]),
    Kind(
      group: "lxd", programs: ["lxd"],
      files: ["/var/snap/lxd/common", "/var/lib/lxd", "/snap/bin/lxd", "/run/lxd.socket"], services: ["lxd"]),
    Kind(
      group: "incus-admin", programs: ["incusd"], files: ["/opt/incus/bin/incusd", "/var/lib/incus"],
      services: ["incus"]),
    Kind(
      group: "incus", programs: ["incusd"], files: ["/opt/incus/bin/incusd", "/var/lib/incus"], services: ["incus"]),
    Kind(group: "libvirt", programs: ["libvirtd", "virtqemud"], files: [], services: ["libvirtd", "virtqemud"]),
    Kind(group: "libvirtd", programs: ["libvirtd", "virtqemud"], files: [], services: ["libvirtd", "virtqemud"]),
  ]

  static func look(_ context: AuthContext) -> ProbeResult {
    var result = ProbeResult()
    let powers = kinds.compactMap { power(of: $0, context) } + [disks(context), hashes(context)].compactMap { $0 }
    for (group, place) in powers {
      for account in context.accounts.owners where account.isMember(of: group) {
        var door = Door(
          "group:\(group)", .elevation, account.name, .always,
          because: [Reason("group.member", file: "/etc/group"), Reason("group.power", place)])
        door.cause = Cause(
          "rootEquivalentGroup", observed: "\(account.name) is a member of \(group)",
          evidence: [Place("/etc/group"), place])
        result.doors.append(door)
      }
    }
    return result
  }

  /// What gives the group its power; nil where it has none here.
  private static func power(of kind: Kind, _ context: AuthContext) -> (group: String, place: Place)? {
    let units = context.startup.units
    let known = kind.services.filter { units.unit("\($0).service") != nil }
    if !known.isEmpty, known.allSatisfy({ units.isMasked("\($0).service") }) { return nil }
    let places =
      kind.programs.compactMap { Programs.path($0, context.system) }
      + kind.files.filter { context.system.exists($0) } + known.compactMap { units.path(of: "\($0).service") }
    return places.first.map { (kind.group, Place($0)) }
  }

  /// Raw access to every disk. A tree shows no devices of its own; a running system without any is a container.
  private static func disks(_ context: AuthContext) -> (group: String, place: Place)? {
    let system = context.system
    guard system.isLive else { return ("disk", Place("/dev")) }
    let device = system.blockDevice(in: "/dev") { !$0.hasPrefix("loop") && !$0.hasPrefix("ram") }
    return device.map { ("disk", Place("/dev/\($0)")) }
  }

  /// Reading every password's hash, while shadow(5) is there and a group may read it.
  private static func hashes(_ context: AuthContext) -> (group: String, place: Place)? {
    guard let status = try? context.system.status("/etc/shadow"), status.mode & 0o040 != 0 else { return nil }
    return ("shadow", Place("/etc/shadow"))
  }
}
