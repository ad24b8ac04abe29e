import Posture

/// The credentials that a getty's unit passes on (systemd.exec(5), agetty(8), login(1)).
struct UnitCredentials: Hashable, Sendable {
  /// `agetty.autologin`
  var autologin: String?
  /// `login.noauth`
  var noAuthentication: String?
  /// One of the two is encrypted: nothing can be said.
  var isUnreadable = false
  /// Where the decisive one is.
  var place: Place?

  static let none = UnitCredentials()

  private static let names = ["agetty.autologin", "login.noauth"]
  /// Where imported ones come from, strongest first.
  private static let stores = [
    "/run/credentials/@system", "/etc/credstore", "/run/credstore", "/usr/local/lib/credstore", "/usr/lib/credstore",
  ]

  init() {}

  init(_ unit: Unit, _ system: System, _ kernel: BootWords) {
    for name in Self.names {
      let source = CredentialSource(unit: unit, system: system, kernel: kernel)
      guard let found = source.find(name, stores: Self.stores) else { continue }
      isUnreadable = isUnreadable || found.value == nil
      place = found.place ?? place
      if name == "login.noauth" { noAuthentication = found.value } else { autologin = found.value }
    }
  }

  /// util-linux's login takes the value "yes"; shadow's does not know the credential.
  func skipsAuthentication(of program: String, _ system: System) -> Bool {
    guard noAuthentication == "yes" else { return false }
    guard let file = try? system.read(program, cap: 4 << 20), file.bytes.count > 4096 else { return true }
    return ByteSearch.contains(file.bytes, "login.noauth")
  }
}

private struct CredentialSource {
  struct Found {
    /// nil: encrypted or not readable.
    var value: String?
    var place: Place?
  }

  let unit: Unit
  let system: System
  let kernel: BootWords

  func find(_ name: String, stores: [String]) -> Found? {
    loaded(name) ?? imported(name, stores) ?? set(name)
  }

  /// `LoadCredential=ID:PATH`, and the encrypted kind.
  private func loaded(_ name: String) -> Found? {
    for setting in unit.values("LoadCredentialEncrypted") where id(setting) == name {
      return Found(value: nil, place: setting.place)
    }
    for setting in unit.values("LoadCredential") where id(setting) == name {
      let path = setting.value.split(separator: ":", maxSplits: 1).dropFirst().first.map(String.init) ?? name
      if path.hasPrefix("/") { return read(path) }
      return fromStore(path, ["/run/credentials/@system", "/etc/credstore", "/run/credstore", "/usr/lib/credstore"])
    }
    return nil
  }

  /// `ImportCredential=GLOB`, from the system's own credentials and the stores.
  private func imported(_ name: String, _ stores: [String]) -> Found? {
    let globs = unit.values("ImportCredential").map { String($0.value.prefix { $0 != ":" }) }
    guard globs.contains(where: { Self.matches($0, name) }) else { return nil }
    if let value = kernel.credential(name) { return Found(value: value, place: kernel.place) }
    return fromStore(name, stores)
  }

  private func set(_ name: String) -> Found? {
    for setting in unit.values("SetCredentialEncrypted") where id(setting) == name {
      return Found(value: nil, place: setting.place)
    }
    return unit.values("SetCredential").last { id($0) == name }.map { setting in
      let value = setting.value.split(separator: ":", maxSplits: 1).dropFirst().first.map(String.init) ?? ""
      return Found(value: value.trimmed, place: setting.place)
    }
  }

  private func fromStore(_ name: String, _ stores: [String]) -> Found? {
    for store in stores {
      if system.exists("\(store)/\(name)") { return read("\(store)/\(name)") }
      if system.exists("\(store).encrypted/\(name)") {
        return Found(value: nil, place: Place("\(store).encrypted/\(name)"))
      }
    }
    return nil
  }

  private func read(_ path: String) -> Found? {
    do throws(System.Unreadable) {
      return Found(value: try system.read(path).text.trimmed, place: Place(path))
    } catch {
      return error == .missing ? nil : Found(value: nil, place: Place(path))
    }
  }

  private func id(_ setting: UnitSetting) -> String { String(setting.value.prefix { $0 != ":" }) }

  /// A glob with "*" at its end, or none.
  private static func matches(_ glob: String, _ name: String) -> Bool {
    glob.ends(with: "*") ? name.hasPrefix(glob.dropLast()) : glob == name
  }
}
