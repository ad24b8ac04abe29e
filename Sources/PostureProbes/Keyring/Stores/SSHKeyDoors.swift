import Posture

/// Private keys in each owner's .ssh.
enum SSHKeyDoors {
  private static let folder = ".ssh"
  /// Names that ssh looks for by itself: what is there is a key, or ought to be.
  private static let standard: Set = [
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "id_xmss", "identity",
  ]
  /// Files that are never keys, however large.
  private static let others: Set = ["known_hosts", "known_hosts.old", "authorized_keys", "config", "environment", "rc"]
  private static let mostFiles = 512
  private static let cap = 256 << 10

  static func look(_ context: KeyringContext) -> ProbeResult {
    var result = ProbeResult()
    for person in context.accounts.people {
      var found = look(Home(context.system, person))
      for index in found.doors.indices {
        found.doors[index].liesOn = context.volumes.door(holding: person.home)
      }
      result.add(found)
    }
    return result
  }

  private static func look(_ home: Home) -> ProbeResult {
    var result = ProbeResult()
    guard home.exists(folder) else { return result }
    let names: [String]
    do throws(System.Unreadable) { names = try home.list(folder) } catch {
      // Without a folder there are no keys, and a file in its place holds none.
      if error != .missing { result.gaps = [home.gap(folder, error)] }
      return result
    }
    let candidates = names.filter { !others.contains($0) && !$0.hasSuffix(".pub") }
    if candidates.count > mostFiles { result.gaps = [home.gap(folder, .tooLarge)] }
    // The standard ones first, so that a farm of other files does not hide them.
    let ordered = candidates.filter(standard.contains) + candidates.filter { !standard.contains($0) }
    result.doors = ordered.prefix(mostFiles).compactMap { door(home, $0) }
    return result
  }

  private static func door(_ home: Home, _ file: String) -> Door? {
    let path = "\(folder)/\(file)"
    let name = "ssh-key:\(home.person.name):\(path)"
    let bytes: [UInt8]
    do throws(System.Unreadable) { bytes = try home.read(path, cap: cap).bytes } catch {
      return standard.contains(file) && error != .missing ? home.unreadable(name, path, error) : nil
    }
    guard let key = SSHPrivateKey(bytes) else {
      return standard.contains(file) ? damaged(home, name, path, "is no private key") : nil
    }
    return door(home, name, path, key)
  }

  private static func damaged(_ home: Home, _ name: String, _ path: String, _ why: String) -> Door {
    var door = home.door(name, nil, Reason("sshKey.damaged", file: home.path(path)))
    door.cause = Cause("unreadable", observed: "\(home.path(path)) \(why)")
    door.proof = Door.Proof(.header, .failed, reason: why)
    return door
  }

  private static func door(_ home: Home, _ name: String, _ path: String, _ key: SSHPrivateKey) -> Door {
    let code: String
    switch key {
    case .open: code = "sshKey.noPassphrase"
    case .passphrase: code = "sshKey.passphrase"
    case .securityKey: code = "sshKey.securityKey"
    case .tpm: code = "sshKey.tpm"
    case .damaged(let why): return damaged(home, name, path, "is damaged: \(why)")
    }
    var door = home.door(name, key.opening, Reason(code, file: home.path(path)))
    if key.opening?.sets.contains(where: { $0.contains(.passcode) }) == true { door.whose = .own }
    switch key {
    case .open: door.cause = Cause("keyWithoutPassphrase", observed: "\(path) has no passphrase")
    case .tpm(false): door.cause = Cause("deviceBoundOnly", observed: "\(path) opens on this hardware by itself")
    default: break
    }
    return door
  }
}
