import Posture
import PosturePlatform

/// Private keys in each owner's .ssh.
enum SSHKeyDoors {
  private static let folder = ".ssh"
  /// Names that ssh or dbclient looks for by itself: what is there is a key, or ought to be.
  private static let standard: Set = [
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "id_xmss", "identity",
    "id_dropbear",
  ]
  /// Files that are never keys, however large.
  private static let others: Set = ["known_hosts", "known_hosts.old", "authorized_keys", "config", "environment", "rc"]
  private static let mostFiles = 512
  private static let mostNamed = 64
  /// Folders below .ssh.
  private static let deepest = 2
  private static let cap = 256 << 10

  static func look(_ context: KeyringContext) -> ProbeResult {
    var result = ProbeResult()
    for person in context.people {
      var found = look(Home(context.system, person))
      for index in found.doors.indices {
        found.doors[index].ground = context.volumes.opening(ofPath: person.home)
      }
      result.add(found)
    }
    return result
  }

  private static func look(_ home: Home) -> ProbeResult {
    var result = ProbeResult()
    if home.exists(folder) {
      let names: [String]
      do throws(System.Unreadable) { names = try home.list(folder) } catch {
        // Without a folder there are no keys, and a file in its place holds none.
        if error != .missing { result.gaps = [home.gap(folder, error)] }
        return result
      }
      var left = mostFiles
      result.doors = doors(home, folder, names, depth: 0, &left)
      if left < 0 { result.gaps = [home.gap(folder, .tooLarge)] }
    }
    var seen = Set(result.doors.map(\.name))
    result.doors += named(home).filter { seen.insert(doorName(home, $0)).inserted }.compactMap { try? door(home, $0) }
    return result
  }

  /// Keys in a folder and in those below it. `left` is what may still be looked at; less than nothing where there is more.
  private static func doors(
    _ home: Home, _ folder: String, _ names: [String], depth: Int, _ left: inout Int
  ) -> [Door] {
    let candidates = names.filter { !others.contains($0) && !$0.ends(with: ".pub") }
    // The standard ones first, so that a farm of other files does not hide them.
    let ordered = candidates.filter(standard.contains) + candidates.filter { !standard.contains($0) }
    var doors: [Door] = []
    for name in ordered {
      left -= 1
      if left < 0 { break }
      let path = "\(folder)/\(name)"
      do throws(System.Unreadable) {
        if let door = try door(home, path) { doors.append(door) }
      } catch {
        // A folder shows by not being a file.
        let below = depth < deepest && error == .notRegular ? try? home.list(path) : nil
        if let below {
          doors += self.doors(home, path, below, depth: depth + 1, &left)
        } else if standard.contains(name), error != .missing {
          doors.append(home.unreadable(doorName(home, path), path, error))
        }
      }
    }
    return doors
  }

  /// Keys that ssh's own settings name, below the home (ssh_config(5), IdentityFile).
  private static func named(_ home: Home) -> [String] {
    guard let file = try? home.read("\(folder)/config", cap: cap) else { return [] }
    let base = home.path("")
    return file.text.lines().compactMap { line -> String? in
      let words = line.split(maxSplits: 1) { " \t=".contains($0) }
      guard words.count == 2, words[0].lowercased() == "identityfile" else { return nil }
      let value = words[1].trimmed.drop { $0 == "=" || $0 == " " }.filter { $0 != "\"" }
      let path = ["~/", "%d/", base].first(where: value.hasPrefix).map { value.dropFirst($0.count) }
      let parts = path?.split(separator: "/").filter { $0 != "." } ?? []
      guard let name = parts.last, !name.ends(with: ".pub"), !parts.contains(where: { $0 == ".." || $0.contains("%") })
      else { return nil }
      return parts.joined(separator: "/")
    }.prefix(mostNamed).map { $0 }
  }

  private static func doorName(_ home: Home, _ path: String) -> String { "ssh-key:\(home.person.name):\(path)" }

  /// nil for what is no private key, and need be none.
  private static func door(_ home: Home, _ path: String) throws(System.Unreadable) -> Door? {
    let name = doorName(home, path)
    let bytes = try home.read(path, cap: cap).bytes
    guard let key = SSHPrivateKey(bytes) else {
      return standard.contains(Path.name(of: path)) ? damaged(home, name, path, "is no private key") : nil
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
