public import Posture
import PosturePlatform
public import PostureMQTT
public import PostureTokens

/// One of the roles of an operator's folder: its signing key, its credential, and its TLS certificate.
public struct Identity: Sendable {
  public let role: Role
  public let party: Party
  /// As other parties see it.
  public let credential: String
  public let key: FileKey
  public let tls: TLSFiles

  /// Loads the role's files.
  public init(_ role: Role, in home: Home) throws(HomeError) {
    self.role = role
    party = Self.party(role, in: home.site)
    credential = try Home.read(text: home.path("\(role.rawValue)/credential.jwt"))
    key = try Self.key(role, in: home)
    tls = Self.tls(role, in: home)
  }

  static func party(_ role: Role, in site: Name) -> Party { Party(site, Name(role.rawValue)!) }

  /// The TLS files alone: for reading, no signing key is needed.
  public static func tls(_ role: Role, in home: Home) -> TLSFiles {
    TLSFiles(
      authorities: home.path(Home.File.authority), certificate: home.path("\(role.rawValue)/tls.pem"),
      key: home.path("\(role.rawValue)/tls.key"), serverName: home.settings.serverName)
  }

  static func key(_ role: Role, in home: Home) throws(HomeError) -> FileKey {
    try key(home.path("\(role.rawValue)/\(role.rawValue).key"))
  }

  static func key(_ file: String) throws(HomeError) -> FileKey {
    do throws(KeyError) { return try FileKey.load(file) } catch {
      throw HomeError(error.underlying?.isMissing == true ? .missing : .damaged, "\(file): \(error)")
    }
  }
}
