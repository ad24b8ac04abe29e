import Posture

/// Makes the row of one encrypted volume: finds its header and how it is unlocked.
struct VolumeDoor {
  private let volumes: Volumes
  private let mapping: Mapping
  private let isEarly: Bool
  private let planner: UnlockPlanner
  /// What its row in crypttab, the initial RAM disk and the command line come to.
  private let entry: CrypttabEntry

  init(_ volumes: Volumes, _ mapping: Mapping) {
    self.volumes = volumes
    self.mapping = mapping
    isEarly = volumes.isEarly(mapping)
    planner = UnlockPlanner(volumes: volumes)
    entry = planner.entry(mapping, isEarly: isEarly)
  }

  func look() -> (door: Door, remarks: [Cause]) {
    let plan = planner.plan(mapping, entry, isEarly: isEarly)
    if plan.key == .throwAway { return (throwAway(), []) }
    if !hasHeader {
      return (door(VolumeWays(withoutHeader: plan, isTyped: true, mapping.place), .init(.none, .ok)), [])
    }
    let header: LUKSHeader
    do throws(LUKSFault) { header = try LUKSHeader.read(volumes.system, headerPath) } catch {
      return (withoutHeader(plan, error), [])
    }
    let ways = VolumeWays(header, plan, mapping.place)
    var (door, remarks) = (door(ways, Door.Proof(.header, .ok)), ways.remarks)
    if isEarly, case .fault(.noArchive) = volumes.initialRAMDisk.image, let path = volumes.initialRAMDisk.path {
      door.because.append(Reason("initrd.noArchive", file: path))
    }
    if isEarly, let differs = initialDifference { remarks.append(differs) }
    return (door, remarks)
  }

  private func door(_ ways: VolumeWays, _ proof: Door.Proof) -> Door {
    var door = Door("volume:\(mapping.name)", .secret, "*", ways.opening, because: ways.because, cause: ways.cause)
    let asksForPasscode = ways.opening?.sets.contains { $0.contains(.passcode) } ?? false
    door.whose = asksForPasscode ? .volume : nil
    door.proof = proof
    return door
  }

  /// The initial RAM disk was made before somebody changed how this volume gets its key.
  private var initialDifference: Cause? {
    guard let here = mapping.entry, let there = volumes.initialRow(of: mapping), let image = volumes.initialRAMDisk.path
    else { return nil }
    let devices = ["tpm2", "fido2", "pkcs11"]
    guard
      (here.keyFile == nil) != (there.keyFile == nil) || devices.contains(where: { here.names($0) != there.names($0) })
    else { return nil }
    return Cause(
      "initrdDiffers",
      observed: "the initial RAM disk unlocks \(mapping.name) in another way than \(here.place.file) says",
      evidence: [here.place, Place(image)])
  }

  /// Swap and scratch space with a new key at each start: after that nobody reads it.
  private func throwAway() -> Door {
    var door = Door(
      "volume:\(mapping.name)", .secret, "*", .never, because: [Reason("volume.throwAwayKey", mapping.place)])
    door.note = "a new random key at each start"
    door.proof = Door.Proof(.none, .ok, reason: "throwAwayKey")
    return door
  }

  /// A key file that anybody can read opens it whatever its header says; else nothing is known.
  private func withoutHeader(_ plan: UnlockPlan, _ fault: LUKSFault) -> Door {
    let ways = VolumeWays(withoutHeader: plan, isTyped: false, mapping.place)
    let proof = Door.Proof(
      .header, fault == .unreadable(.denied) ? .refused : .failed, reason: fault.words)
    if ways.opening == .always { return door(ways, proof) }
    var door = Door(
      "volume:\(mapping.name)", .secret, "*", nil,
      because: [Reason("volume.encrypted", mapping.place), Reason("luks.unreadable", file: headerPath)])
    door.cause = Cause("unreadable", observed: "\(headerPath) \(fault.words)")
    door.proof = proof
    return door
  }

  /// False for plain dm-crypt and TrueCrypt, which keep no list of ways in.
  private var hasHeader: Bool {
    if ["PLAIN", "TCRYPT", "LOOPAES"].contains(mapping.kind) { return false }
    return !Self.headerless.contains(where: entry.has)
  }

  /// Each of them alone says so, in systemd's words or Debian's.
  private static let headerless = [
    "plain", "tcrypt", "tcrypt-hidden", "tcrypt-system", "tcrypt-veracrypt", "tcrypthidden", "tcryptsystem",
    "veracrypt",
  ]

  private var headerPath: String {
    if let detached = entry.option("header") { return BlockDevices.path(ofSource: detached) ?? detached }
    return BlockDevices.path(ofSource: mapping.source ?? "") ?? "/dev/\(mapping.source ?? mapping.name)"
  }
}
