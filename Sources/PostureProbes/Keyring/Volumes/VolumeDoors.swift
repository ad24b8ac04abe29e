import Posture

/// The volumes: what opens each, whether the system or homes are on it.
enum VolumeDoors {
  static func look(_ context: KeyringContext) -> ProbeResult {
    let volumes = context.volumes
    var result = ProbeResult()
    result.gaps = volumes.gaps
    let mounts = volumes.mounts.mounts.filter(volumes.holdsSystemOrHomes)
    let system = volumes.door(holding: "/")
    let used = Set(mounts.flatMap { volumes.ground(of: $0).mappings })
    for mapping in volumes.mappings {
      var (door, remarks) = volumes.door(of: mapping)
      door.counts = used.contains(mapping.name)
      result.doors.append(door)
      result.remarks += remarks.map { Remark($0, check: .disk, door: door.name) }
      result.remarks += portability(of: door, mapping)
    }
    let unmapped = mounts.compactMap(volumes.unmappedDoor)
    // A name stands for one row: of two, the one that the system or a home lies on.
    let names = Set(unmapped.map(\.name))
    result.doors.removeAll { !$0.counts && names.contains($0.name) }
    result.doors += unmapped
    for index in result.doors.indices { result.doors[index].holdsSystem = result.doors[index].name == system }
    return result
  }

  /// A passcode that opens the volume on any machine.
  private static func portability(of door: Door, _ mapping: Mapping) -> [Remark] {
    guard let opening = door.opening, opening.answer == .required, !opening.isDeviceBound else { return [] }
    let cause = Cause(
      "passcodeBoundPortable", observed: "\(door.name) opens on any machine", evidence: [mapping.place])
    return [Remark(cause, check: .deviceBinding, door: door.name)]
  }
}

extension Volumes {
  /// The row of a mount that no single mapping stands for; nil where one does.
  func unmappedDoor(of mount: MountTable.Mount) -> Door? {
    let ground = ground(of: mount)
    guard ground.soleMapping == nil else { return nil }
    var door = Door(doorName(mount), .secret, "*", opening(of: ground), because: [])
    switch ground {
    case .plain:
      door.because = [Reason("volume.plain", mount.place)]
      door.cause = Cause("volumeNotEncrypted", observed: "\(mount.point) is not encrypted")
      door.proof = Door.Proof(.none, .ok, reason: "notEncrypted")
    case .unknown(let cause):
      door.because = [Reason("volume.unknown", cause.evidence?.first ?? mount.place)]
      door.cause = cause
      door.proof = Door.Proof(.none, .failed, reason: "notModelled")
    case .legs, .mapping:
      door.because = [Reason("volume.severalDevices", mount.place)]
      door.cause = Cause("volumeNotEncrypted", observed: "a part of \(mount.point) opens without proof")
      door.proof = Door.Proof(.header, .ok)
    }
    return door
  }
}
