import CLinux
import Glibc
import Posture
import PosturePlatform

/// Homes that fscrypt encrypts: by the policy that the kernel says a home has, else by the login passphrase of its owner
/// that protects one.
enum FSCryptDoors {
  static func look(_ context: KeyringContext) -> ProbeResult {
    var result = ProbeResult()
    var seen: [String: FSCrypt] = [:]
    let points = context.volumes.mounts.mounts.map(\.point)
    // systemd-homed has policies of its own, and the user record says what opens them.
    for person in context.people where !ManagedHomeDoors.has(person, context.system) {
      let point = context.volumes.mounts.mount(holding: person.home)?.point ?? "/"
      let metadata = seen[point] ?? FSCrypt(context.system, mount: point, others: ["/"] + points)
      seen[point] = metadata
      guard var door = door(person, metadata, FSCryptPolicy(context.system, person.home)) else { continue }
      door.ground = context.volumes.opening(ofPath: person.home)
      result.doors.append(door)
    }
    return result
  }

  static func door(_ person: Account, _ metadata: FSCrypt, _ policy: FSCryptPolicy) -> Door? {
    switch policy {
    case .none: return nil
    case .is(let descriptor):
      return door(person, metadata.policies[descriptor] ?? [nil], fallback: person.home)
    case .unknown:
      let mine = metadata.policies.sorted { $0.key < $1.key }.map(\.value).first { protectors in
        protectors.contains { $0?.source == .login && $0?.uid == UInt64(person.uid) }
      }
      return mine.map { door(person, $0, fallback: person.home) }
    }
  }

  private static func door(_ person: Account, _ protectors: [FSCrypt.Protector?], fallback: String) -> Door {
    var opening: Opening? = .never
    for protector in protectors {
      switch protector?.source {
      case .login, .own: opening = opening?.or(.passcode)
      // Where the raw key is kept does not show.
      case .rawKey, nil: opening = nil
      }
    }
    let place = protectors.compactMap { $0?.place }.first ?? fallback
    var door = Door(
      "home:\(person.name)", .secret, person.name, opening, because: [Reason("fscrypt.protector", file: place)])
    door.proof = Door.Proof(.header, .ok)
    if protectors.allSatisfy({ $0?.source == .own }) { door.whose = .own }
    if opening == nil {
      door.cause = Cause("notModelled", observed: "a protector of the home is a key whose place does not show")
    }
    return door
  }
}

/// The encryption policy of a directory, as the kernel has it.
enum FSCryptPolicy: Hashable {
  case none
  /// By the name that fscrypt's file of it has.
  case `is`(String)
  /// The home is not there, not on a file system that could say so, or belongs to a tree that was copied from one.
  case unknown

  init(_ system: System, _ home: String) {
    guard home.hasPrefix("/"), let fd = try? system.open(home, O_RDONLY | O_DIRECTORY | O_NONBLOCK) else {
      self = .unknown
      return
    }
    let folder = Descriptor(owning: fd)
    var name = [UInt8](repeating: 0, count: 16)
    let count = Int(clinux_encryption_policy(folder.number, &name))
    if count > 0 {
      self = .is(name.prefix(count).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())
    } else {
      self = count == 0 && system.isLive ? .none : .unknown
    }
  }
}
