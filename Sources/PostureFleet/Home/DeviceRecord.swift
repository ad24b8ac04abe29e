import Glibc
public import Posture

/// What the issuer remembers of a device that it enrolled: `devices/NAME.KID.json`.
public struct DeviceRecord: Hashable, Sendable {
  public var name: Name
  public var kid: String
  public var groups: [Name]
  public var protection: KeyProtection
  public var issued: Int64
  public var expires: Int64

  static func all(in home: Home) throws(HomeError) -> [DeviceRecord] {
    let folder = home.path(Home.File.devices)
    var records: [DeviceRecord] = []
    for name in Home.names(in: folder) where name.hasSuffix(".json") {
      let file = "\(folder)/\(name)"
      guard let record = DeviceRecord(json: try Home.read(json: file)) else {
        throw HomeError(.damaged, "\(file): not a device's record")
      }
      records.append(record)
    }
    return records
  }

  /// The record of one key of a device; nil where there is none.
  static func load(_ name: Name, kid: String, in home: Home) throws(HomeError) -> DeviceRecord? {
    let file = "\(stem(name, kid, home)).json"
    let json: JSON
    do throws(HomeError) { json = try Home.read(json: file) } catch {
      guard error.code == .missing else { throw error }
      return nil
    }
    guard let record = DeviceRecord(json: json) else { throw HomeError(.damaged, "\(file): not a device's record") }
    return record.kid == kid ? record : nil
  }

  private static func stem(_ name: Name, _ kid: String, _ home: Home) -> String {
    home.path("\(Home.File.devices)/\(name).\(kid.prefix(8))")
  }

  /// The credential that was signed last.
  func credential(in home: Home) throws(HomeError) -> String {
    try Home.read(text: "\(Self.stem(name, kid, home)).jwt")
  }

  /// Keeps the credential too: it is what a token of the device is verified with when no broker is at hand.
  func save(in home: Home, credential: String) throws(HomeError) {
    try Home.makeFolder(home.path(Home.File.devices))
    let stem = Self.stem(name, kid, home)
    try Home.write(credential, to: "\(stem).jwt")
    try Home.write(json.text, to: "\(stem).json")
  }

  /// The credentials of a device that are kept here.
  static func credentials(of name: Name, in home: Home) throws(HomeError) -> [String] {
    let folder = home.path(Home.File.devices)
    var credentials: [String] = []
    for file in Home.names(in: folder) where file.hasPrefix("\(name).") && file.hasSuffix(".jwt") {
      credentials.append(try Home.read(text: "\(folder)/\(file)"))
    }
    return credentials
  }

  var json: JSON {
    [
      "device": .string(name.description), "kid": .string(kid),
      "groups": .array(groups.map { .string($0.description) }), "key_protection": .string(protection.rawValue),
      "issued": .integer(issued), "expires": .integer(expires),
    ]
  }
}

extension DeviceRecord {
  init?(json: JSON) {
    guard let name = json["device"]?.string.flatMap(Name.init), let kid = json["kid"]?.string,
      let groups = json["groups"]?.strings, let issued = json["issued"]?.integer,
      let expires = json["expires"]?.integer,
      let protection = json["key_protection"]?.string.flatMap(KeyProtection.init(rawValue:))
    else { return nil }
    self.init(
      name: name, kid: kid, groups: groups.compactMap { Name($0) }, protection: protection, issued: issued,
      expires: expires)
  }
}
