import Posture

/// Homes of systemd-homed: what opens each, by its user record.
enum ManagedHomeDoors {
  private static let folder = "/var/lib/systemd/home"
  private static let suffix = ".identity"
  private static let limits = JSONParser.Limits(bytes: 1 << 20, depth: 32, anyNumber: true)

  /// The person's home is one of these, whoever else knows them.
  static func has(_ person: Account, _ system: System) -> Bool {
    person.source == .homed || system.exists("\(folder)/\(person.name)\(suffix)")
  }

  static func look(_ context: KeyringContext) -> ProbeResult {
    var result = ProbeResult()
    let names: [String]
    do throws(System.Unreadable) { names = try context.system.list(folder) } catch {
      if error != .missing {
        result.gaps = [
          Gap(Cause("unreadable", observed: "\(folder) \(error.words)", evidence: [Place(folder)]), checks: [.keyring])
        ]
      }
      return result
    }
    for file in names.prefix(1024) where file.ends(with: suffix) {
      var door = door(context.system, String(file.dropLast(suffix.count)), "\(folder)/\(file)")
      door.ground = context.volumes.opening(ofPath: "/home")
      result.doors.append(door)
    }
    return result
  }

  private static func door(_ system: System, _ user: String, _ path: String) -> Door {
    var door = Door("home:\(user)", .secret, user, nil, because: [Reason("unreadable", file: path)])
    let record: JSON
    do {
      record = try JSONParser.parse(try system.read(path).bytes, limits: limits)
    } catch {
      let words = (error as? System.Unreadable)?.words ?? "is no user record"
      door.cause = Cause("unreadable", observed: "\(path) \(words)")
      door.proof = Door.Proof(.header, .failed, reason: words)
      return door
    }
    let found = ManagedHome(record, on: HomeMachine(system))
    door.opening = found.opening
    door.because = [Reason("homed.\(found.storage)", file: path)]
    door.proof = Door.Proof(.header, .ok)
    switch found.opening {
    case .always? where found.isEncrypted:
      door.cause = Cause("openSecret", observed: "the password of \(user) is empty")
    case .always?: door.cause = Cause("homeNotEncrypted", observed: "storage \(found.storage)")
    case nil: door.cause = Cause("notModelled", observed: "storage \(found.storage)")
    default: break
    }
    return door
  }
}

/// A user record (systemd's USER_RECORD), as far as it says what unlocks the home.
struct ManagedHome: Hashable, Sendable {
  let storage: String
  /// nil: not known.
  let opening: Opening?
  var isEncrypted: Bool { ["luks", "fscrypt"].contains(storage) }

  init(_ record: JSON, on machine: HomeMachine) {
    storage = Self.storage(record, machine)
    switch storage {
    case "luks", "fscrypt": opening = Self.ways(record)
    case "directory", "subvolume": opening = .always
    default: opening = nil
    }
  }

  /// What this machine made of it in `binding`, else what the record wants on such a machine, else on any.
  private static func storage(_ record: JSON, _ machine: HomeMachine) -> String {
    let bindings = record["binding"]?.members ?? []
    if let bound = machine.binding(bindings)?["storage"]?.string { return bound }
    // Of several machines it may be any.
    if machine.id == nil, bindings.count > 1 { return "unknown" }
    return (record["perMachine"]?.array ?? []).reduce(record["storage"]?.string ?? "unknown") { storage, section in
      guard let wanted = section["storage"]?.string, wanted != storage, machine.matches(section) != false else {
        return storage
      }
      return machine.matches(section) == true ? wanted : "unknown"
    }
  }

  /// nil without the section that only root may read: what opens it does not show.
  private static func ways(_ record: JSON) -> Opening? {
    guard let secrets = record["privileged"] else { return nil }
    var opening = Opening.never
    for hash in secrets["hashedPassword"]?.array ?? [] {
      let password = PasswordField(hash.string ?? "*").password
      opening = opening.or(password == .empty || password == .emptyHash ? .always : .passcode)
    }
    for salt in secrets["fido2HmacSalt"]?.array ?? [] {
      opening = opening.or(salt["clientPin"]?.bool == false ? Opening([.token]) : Opening([.passcode, .token]))
    }
    if secrets["pkcs11EncryptedKey"]?.array?.isEmpty == false { opening = opening.or(Opening([.token])) }
    if secrets["recoveryKey"]?.array?.isEmpty == false { opening = opening.or(Opening([.recovery])) }
    return opening
  }
}
