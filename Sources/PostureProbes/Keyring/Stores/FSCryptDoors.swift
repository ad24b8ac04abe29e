import Posture

/// Homes that fscrypt encrypts: those whose policy a login passphrase of their owner protects.
enum FSCryptDoors {
  static func look(_ context: KeyringContext) -> ProbeResult {
    var result = ProbeResult()
    var seen: [String: FSCrypt] = [:]
    for person in context.accounts.people {
      let point = context.volumes.mounts.mount(holding: person.home)?.point ?? "/"
      let metadata = seen[point] ?? FSCrypt(context.system, mount: point)
      seen[point] = metadata
      guard var door = door(person, metadata) else { continue }
      door.liesOn = context.volumes.door(holding: person.home)
      result.doors.append(door)
    }
    return result
  }

  static func door(_ person: Account, _ metadata: FSCrypt) -> Door? {
    let mine = metadata.policies.values.filter { protectors in
      protectors.contains { $0?.source == .login && $0?.uid == UInt64(person.uid) }
    }
    guard let protectors = mine.first, let place = protectors.compactMap({ $0?.place }).first else { return nil }
    var opening: Opening? = .never
    for protector in protectors {
      switch protector?.source {
      case .login, .own: opening = opening?.or(.passcode)
      // Where the raw key is kept does not show.
      case .rawKey, nil: opening = nil
      }
    }
    var door = Door(
      "home:\(person.name)", .secret, person.name, opening, because: [Reason("fscrypt.protector", file: place)])
    door.proof = Door.Proof(.header, .ok)
    if opening == nil {
      door.cause = Cause("notModelled", observed: "a protector of the home is a key whose place does not show")
    }
    return door
  }
}
