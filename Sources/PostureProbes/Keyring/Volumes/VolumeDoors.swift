import Posture

/// The volumes: what opens each, whether the system or homes are on it.
enum VolumeDoors {
  static func look(_ context: KeyringContext) -> ProbeResult {
    let volumes = context.volumes
    var result = ProbeResult()
    result.gaps = volumes.gaps
    let mounts = volumes.mounts.mounts.filter(volumes.holdsSystemOrHomes)
    let grounds = mounts.map(volumes.ground)
    let used = Set(grounds.flatMap(\.mappings))
    let system = mounts.firstIndex { $0.point == "/" }.map { grounds[$0] }
    let isEncrypted = system?.isEncrypted == true
    for mapping in volumes.mappings {
      var (door, remarks) = volumes.door(of: mapping)
      door.counts = used.contains(mapping.name)
      door.holdsSystem = isEncrypted && system?.layer(mapping.name) != nil
      result.doors.append(door)
      result.remarks += remarks.map { Remark($0, check: .disk, door: door.name) }
      let layer = grounds.lazy.compactMap { $0.layer(mapping.name) }.first
      result.remarks += portability(of: door, mapping, volumes.opening(of: layer ?? .mapping(mapping.name, on: .plain)))
    }
    // A mapping that counts keeps its name, and of two mounts the first. No mapping is called as a mount point is.
    var taken = used
    for (mount, ground) in zip(mounts, grounds) where ground.soleMapping == nil {
      let name = Volumes.name(ofPoint: mount.point)
      var door = volumes.door(of: mount, on: ground, named: taken.insert(name).inserted ? name : mount.point)
      door.holdsSystem = mount.point == "/" && !isEncrypted
      result.doors.removeAll { !$0.counts && $0.name == door.name }
      result.doors.append(door)
    }
    return result
  }

  /// A passcode that opens the volume on any machine; `whole`: with what it stands on.
  private static func portability(of door: Door, _ mapping: Mapping, _ whole: Opening?) -> [Remark] {
    guard door.answer == .required, whole?.isDeviceBound != true else { return [] }
    let cause = Cause(
      "passcodeBoundPortable", observed: "\(door.name) opens on any machine", evidence: [mapping.place])
    return [Remark(cause, check: .deviceBinding, door: door.name)]
  }
}

extension Volumes {
  /// The row of a mount that no single mapping stands for.
  func door(of mount: MountTable.Mount, on ground: Ground, named name: String) -> Door {
    var door = Door("volume:\(name)", .secret, "*", opening(of: ground), because: [])
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
