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
  fileprivate static let stores = [
    "/run/credentials/@system", "/etc/credstore", "/run/credstore", "/usr/local/lib/credstore", "/usr/lib/credstore",
  ]

  init() {}

  init(_ unit: Unit, _ system: System, _ kernel: BootWords) {
    for name in Self.names {
      let source = CredentialSource(unit: unit, system: system, kernel: kernel)
      guard let found = source.find(name) else { continue }
      isUnreadable = isUnreadable || found.value == nil
      place = found.place ?? place
      if name == "login.noauth" { noAuthentication = found.value } else { autologin = found.value }
    }
  }

  /// Terminals that have credentials of their own: `tty.virtual.tty3.agetty.autologin` is for tty3.
  static func terminals(_ kind: String, _ system: System, _ kernel: BootWords) -> [String] {
    let stored = stores.flatMap { [$0, "\($0).encrypted"] }.flatMap { (try? system.list($0)) ?? [] }
    let label = "tty.\(kind)."
    return (stored + kernel.credentialNames).filter { $0.hasPrefix(label) }
      .map { String($0.dropFirst(label.utf8.count).prefix { $0 != "." }) }
      .filter { !$0.isEmpty && $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } }
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

  func find(_ name: String) -> Found? {
    loaded(name) ?? imported(name) ?? set(name)
  }

  /// `LoadCredential=ID:PATH`, and the encrypted kind.
  private func loaded(_ name: String) -> Found? {
    for setting in unit.values("LoadCredentialEncrypted") where id(setting) == name {
      return Found(value: nil, place: setting.place)
    }
    for setting in unit.values("LoadCredential") where id(setting) == name {
      let path = unit.expand(setting.value).split(separator: ":", maxSplits: 1).dropFirst().first.map(String.init)
      if let path, path.hasPrefix("/") { return read(path) }
      return held(path ?? name)
    }
    return nil
  }

  /// `ImportCredential=GLOB`, `GLOB:NEWNAME`: the first that is found.
  private func imported(_ name: String) -> Found? {
    unit.values("ImportCredential").lazy.compactMap { Self.original(of: name, unit.expand($0.value)) }
      .compactMap(held).first
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

  /// From the system's own credentials and the stores.
  private func held(_ name: String) -> Found? {
    if let value = kernel.credential(name) { return Found(value: value, place: kernel.place) }
    for store in UnitCredentials.stores {
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

  private func id(_ setting: UnitSetting) -> String { unit.expand(String(setting.value.prefix { $0 != ":" })) }

  /// The name under which the system has what this import calls `name`: a new name stands for all that the glob says, or
  /// for what stands before its "*", which can be at the end alone. nil where it is not imported.
  private static func original(of name: String, _ text: String) -> String? {
    let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
    guard let glob = parts.first else { return nil }
    guard glob.ends(with: "*") else { return (parts.count > 1 ? parts[1] : glob) == name ? glob : nil }
    let start = String(glob.dropLast())
    let new = parts.count > 1 ? parts[1] : start
    return name.hasPrefix(new) ? start + name.dropFirst(new.count) : nil
  }
}
