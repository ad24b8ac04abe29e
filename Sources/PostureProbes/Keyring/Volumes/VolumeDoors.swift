import Posture

/// The volumes: what opens each, whether the system or homes are on it.
enum VolumeDoors {
  static func look(_ context: KeyringContext) -> ProbeResult {
    let volumes = context.volumes
    var result = ProbeResult()
    let mounts = volumes.mounts.mounts.filter(volumes.holdsSystemOrHomes)
    let system = volumes.door(holding: "/")
    let used = Set(mounts.flatMap { volumes.ground(of: $0).mappings })
    for mapping in volumes.mappings {
      var door = volumes.door(of: mapping)
      door.counts = used.contains(mapping.name) && door.counts
      result.doors.append(door)
    }
    for mount in mounts {
      if let door = volumes.unmappedDoor(of: mount) { result.doors.append(door) }
    }
    for index in result.doors.indices { result.doors[index].holdsSystem = result.doors[index].name == system }
    return result
  }
}

extension Volumes {
  /// The row of an encrypted volume.
  func door(of mapping: Mapping) -> Door {
    Door("volume:\(mapping.name)", .secret, "*", nil, because: [Reason("volume.encrypted", mapping.place)])
  }

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

  /// Of several devices the weakest counts, as each gives a part away.
  func opening(of ground: Ground) -> Opening? {
    switch ground {
    case .plain: return .always
    case .unknown: return nil
    case .mapping(let name, let below):
      let own = mapping(name).flatMap { door(of: $0).opening }
      guard let deeper = opening(of: below) else { return own }
      return own?.and(deeper)
    case .legs(let legs):
      let openings = legs.map(opening)
      if openings.contains(.always) { return .always }
      if openings.contains(nil) { return nil }
      return openings.compactMap { $0 }.reduce(.never) { $0.or($1) }
    }
  }
}
