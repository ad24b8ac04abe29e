import Posture

/// The wallets of KWallet in each owner's home.
enum KWalletDoors {
  private static let suffix = ".kwl"
  private static let oldFolders = [".kde/share/apps/kwallet", ".kde4/share/apps/kwallet"]
  private static let mostFiles = 64
  /// Trying a password costs some 20 ms of CPU; in one examination so many are tried.
  private struct Trials {
    /// Each person's default is one that counts.
    private var ofDefaults = 32
    private var ofOthers = 4

    mutating func take(isDefault: Bool) -> Bool {
      if isDefault, ofDefaults > 0 {
        ofDefaults -= 1
        return true
      }
      ofOthers -= 1
      return ofOthers >= 0
    }
  }

  static func look(_ context: KeyringContext) -> ProbeResult {
    var trials = Trials()
    var result = ProbeResult()
    for person in context.people { result.add(look(context, Home(context.system, person), &trials)) }
    return result
  }

  private static func look(_ context: KeyringContext, _ home: Home, _ trials: inout Trials) -> ProbeResult {
    var result = ProbeResult()
    let folders = ["\(DataFolder.of(home))/kwalletd"] + oldFolders
    guard let folder = folders.first(where: home.exists) else { return result }
    let names: [String]
    do throws(System.Unreadable) { names = try home.list(folder) } catch {
      result.gaps = [home.gap(folder, error)]
      return result
    }
    let files = names.filter { $0.ends(with: suffix) && $0.utf8.count > suffix.utf8.count }
    if files.count > mostFiles { result.gaps = [home.gap(folder, .tooLarge)] }
    let settings = KWalletSettings(home)
    // The one that counts is tried first.
    let ordered = files.filter { settings.isDefault($0.dropLast(suffix.count)) } + files
    for file in ordered.prefix(mostFiles) where !result.doors.contains(where: { $0.name == doorName(file) }) {
      let isDefault =
        settings.isEnabled && settings.isDefault(file.dropLast(suffix.count))
        && context.providers.serves(.kwallet, home)
      var door = door(home, folder, file) { trials.take(isDefault: isDefault) }
      door.isDefault = isDefault
      door.ground = context.volumes.opening(ofPath: home.path(folder))
      result.doors.append(door)
    }
    return result
  }

  private static func doorName(_ file: String) -> String { "secrets@kwallet:\(file.dropLast(suffix.count))" }

  private static func door(_ home: Home, _ folder: String, _ file: String, mayTry: () -> Bool) -> Door {
    let path = "\(folder)/\(file)"
    let bytes: [UInt8]
    do throws(System.Unreadable) { bytes = try home.read(path, cap: 8 << 20).bytes } catch {
      return home.unreadable(doorName(file), path, error)
    }
    guard let wallet = KWallet(bytes) else {
      var door = home.door(doorName(file), nil, Reason("kwallet.damaged", file: home.path(path)))
      door.cause = Cause("unreadable", observed: "\(file) is no wallet of a known version")
      door.proof = Door.Proof(.header, .failed, reason: "unknown version")
      return door
    }
    if wallet.cipher == .gpg { return gpg(home, path, file) }
    let salt = try? home.read("\(folder)/\(file.dropLast(suffix.count)).salt", cap: 4096)
    return derived(home, path, file, mayTry() ? wallet.opensWithNothing(salt: salt?.bytes) : nil)
  }

  private static func derived(_ home: Home, _ path: String, _ file: String, _ opensWithNothing: Bool?) -> Door {
    switch opensWithNothing {
    case true?:
      var door = home.door(doorName(file), .always, Reason("kwallet.emptyPassword", file: home.path(path)))
      door.cause = Cause("keyringWithoutPassword", observed: "\(file) opens with an empty password")
      door.proof = Door.Proof(.derivation, .ok, reason: "emptyPassword")
      return door
    case false?:
      var door = home.door(doorName(file), .passcode, Reason("kwallet.encrypted", file: home.path(path)))
      door.whose = .wallet
      door.proof = Door.Proof(.derivation, .ok)
      return door
    case nil:
      var door = home.door(doorName(file), nil, Reason("kwallet.encrypted", file: home.path(path)))
      door.cause = Cause("unknownDoor", observed: "whether \(file) opens with an empty password was not tried")
      door.proof = Door.Proof(.derivation, .refused, reason: "not tried")
      return door
    }
  }

  /// The key lies in GnuPG's keyring, where it may have a passphrase or not.
  private static func gpg(_ home: Home, _ path: String, _ file: String) -> Door {
    var door = home.door(doorName(file), nil, Reason("kwallet.gpg", file: home.path(path)))
    door.cause = Cause("notModelled", observed: "\(file) is encrypted to a GnuPG key")
    return door
  }
}

/// kwalletrc, as far as it says which wallet counts: the person's own over the machine's.
private struct KWalletSettings {
  let isEnabled: Bool
  private let name: String

  init(_ home: Home) {
    let own = [".config/kwalletrc", ".kde/share/config/kwalletrc", ".kde4/share/config/kwalletrc"]
      .lazy.compactMap { try? home.read($0, cap: 64 << 10) }.first
    var settings = KConfig(group: "Wallet", of: "kwalletrc", home.system)
    if let own { settings.read(own.text, path: home.path("kwalletrc")) }
    isEnabled = settings["Enabled"].map(KConfig.isTrue) ?? true
    name = settings["Default Wallet"] ?? "kdewallet"
  }

  func isDefault(_ wallet: some StringProtocol) -> Bool { wallet == name }
}
