public import Posture

/// What an operator's folder says about its site: `posture.json`.
public struct Settings: Hashable, Sendable {
  static let file = "posture.json"
  static let schema = "posture-home/1"

  public var site: Name
  /// The broker's host as clients reach it.
  public var host: String
  public var devicePort: UInt16
  public var operatorPort: UInt16
  /// The name in the broker's certificate.
  public var serverName: String

  public init(site: Name, host: String, devicePort: UInt16, operatorPort: UInt16, serverName: String) {
    self.site = site
    self.host = host
    self.devicePort = devicePort
    self.operatorPort = operatorPort
    self.serverName = serverName
  }

  init(json: JSON) throws(ClaimError) {
    guard json["schema"]?.string == Self.schema else { throw ClaimError(.value, "schema") }
    guard let site = json["site"]?.string.flatMap(Name.init) else { throw ClaimError(.value, "site") }
    guard let host = json["host"]?.string, let serverName = json["serverName"]?.string else {
      throw ClaimError(.missing, "host")
    }
    self.init(
      site: site, host: host, devicePort: try Self.port(json, "devicePort"),
      operatorPort: try Self.port(json, "operatorPort"), serverName: serverName)
  }

  private static func port(_ json: JSON, _ name: String) throws(ClaimError) -> UInt16 {
    guard let number = json[name]?.integer, let port = UInt16(exactly: number), port > 0 else {
      throw ClaimError(.range, name)
    }
    return port
  }

  var json: JSON {
    [
      "schema": .string(Self.schema), "site": .string(site.description), "host": .string(host),
      "devicePort": .integer(Int64(devicePort)), "operatorPort": .integer(Int64(operatorPort)),
      "serverName": .string(serverName),
    ]
  }
}
