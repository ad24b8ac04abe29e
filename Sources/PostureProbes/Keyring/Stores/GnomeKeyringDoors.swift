import Posture

/// The collections of gnome-keyring in each owner's home.
enum GnomeKeyringDoors {
  private static let suffix = ".keyring"
  /// More files than this in one folder are no person's keyrings.
  private static let mostFiles = 256

  static func look(_ context: KeyringContext) -> ProbeResult {
    var result = ProbeResult()
    for person in context.people {
      result.add(look(context, person))
      result.add(later(context, Home(context.system, person)))
    }
    return result
  }

  /// oo7 keeps its own format in a folder below, and takes the older files over as they are used.
  private static func later(_ context: KeyringContext, _ home: Home) -> ProbeResult {
    let folder = "\(DataFolder.of(home))/keyrings/v1"
    var result = ProbeResult()
    let names = (try? home.list(folder)) ?? []
    for file in names.prefix(mostFiles) where file.ends(with: suffix) && file.utf8.count > suffix.utf8.count {
      var door = door(home, folder, file)
      door.name = "secrets@oo7:\(file.dropLast(suffix.count))"
      door.isDefault = context.providers.has(.oo7) && file == "login\(suffix)"
      door.ground = context.volumes.opening(ofPath: home.path(folder))
      result.doors.append(door)
    }
    return result
  }

  private static func look(_ context: KeyringContext, _ person: Account) -> ProbeResult {
    var result = ProbeResult()
    let home = Home(context.system, person)
    guard let folder = folder(home) else { return result }
    let names: [String]
    do throws(System.Unreadable) { names = try home.list(folder) } catch {
      result.gaps = [home.gap(folder, error)]
      return result
    }
    let files = names.filter { $0.ends(with: suffix) && $0.utf8.count > suffix.utf8.count }
    if files.count > mostFiles { result.gaps = [home.gap(folder, .tooLarge)] }
    let chosen = context.providers.serves(.gnomeKeyring, home) ? defaultCollection(home, folder) : nil
    result.doors = files.prefix(mostFiles).map { file in
      var door = door(home, folder, file)
      if file == "login\(suffix)", door.opening == .passcode { unlock(&door, context, home) }
      door.isDefault = String(file.dropLast(suffix.count)) == chosen
      door.ground = context.volumes.opening(ofPath: home.path(folder))
      return door
    }
    return result
  }

  /// Its password may come from somewhere else than from a person: of two ways in the easier one is open as well.
  private static func unlock(_ door: inout Door, _ context: KeyringContext, _ home: Home) {
    guard let unlocker = KeyringUnlocker.find(context, home) else { return }
    door.because.append(Reason("keyring.unlockedAtLogin", unlocker.place))
    door.opening = unlocker.opening.map { $0.or(.passcode) }
    door.cause =
      switch unlocker.opening {
      case nil:
        Cause("notModelled", observed: "\(unlocker.script) unlocks the keyring with what does not show")
      case .always?:
        Cause("openSecret", observed: "\(unlocker.script) unlocks the keyring with what is on the disk")
      default: Cause("deviceBoundOnly", observed: "\(unlocker.script) unlocks the keyring on this hardware by itself")
      }
  }

  /// The old place counts only where the present one is missing.
  private static func folder(_ home: Home) -> String? {
    ["\(DataFolder.of(home))/keyrings", ".gnome2/keyrings"].first(where: home.exists)
  }

  /// The alias file names the collection that new secrets go to; empty or missing it is `login`.
  private static func defaultCollection(_ home: Home, _ folder: String) -> String {
    let alias = try? home.read("\(folder)/default", cap: 4096)
    let name = alias.map { $0.text.trimmed } ?? ""
    return name.isEmpty ? "login" : name
  }

  private static func door(_ home: Home, _ folder: String, _ file: String) -> Door {
    let path = "\(folder)/\(file)"
    let name = "secrets@gnome-keyring:\(file.dropLast(suffix.count))"
    let bytes: [UInt8]
    do throws(System.Unreadable) { bytes = try home.read(path, cap: 8 << 20).bytes } catch {
      return home.unreadable(name, path, error)
    }
    switch GnomeKeyring(bytes) {
    case .encrypted:
      var door = home.door(name, .passcode, Reason("gnomeKeyring.encrypted", file: home.path(path)))
      door.whose = file == "login\(suffix)" ? nil : .own
      return door
    case .plaintext:
      var door = home.door(name, .always, Reason("gnomeKeyring.plaintext", file: home.path(path)))
      door.cause = Cause("keyringWithoutPassword", observed: "\(file) is not encrypted: its password is empty")
      return door
    case .oo7:
      var door = home.door(name, nil, Reason("oo7.encrypted", file: home.path(path)))
      door.cause = Cause("notModelled", observed: "\(file): whether its password is empty does not show")
      return door
    case .damaged(let why):
      var door = home.door(name, nil, Reason("gnomeKeyring.damaged", file: home.path(path)))
      door.cause = Cause("unreadable", observed: "\(file): \(why)")
      door.proof = Door.Proof(.header, .failed, reason: why)
      return door
    }
  }
}
