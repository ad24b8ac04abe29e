import Glibc
public import Posture
import PosturePlatform
import PostureTokens

/// Makes the folder of a new site: root, issuer, roles, transport CA, broker, first trust document.
public struct SiteBuilder {
  public struct Options: Hashable, Sendable {
    public var site: Name
    /// Names and addresses by which clients reach the broker; the first one is what bundles name.
    public var hosts: [String]
    public var deviceListener: BrokerConfiguration.Listener
    public var operatorListener: BrokerConfiguration.Listener
    /// Seconds that a trust document is good for.
    public var trustLife: Int64 = 90 * IssuerDesk.day
    /// Seconds for credentials and certificates of operators and broker.
    public var life: Int64 = 3_650 * IssuerDesk.day

    public init(
      site: Name, hosts: [String], deviceListener: BrokerConfiguration.Listener,
      operatorListener: BrokerConfiguration.Listener
    ) {
      self.site = site
      self.hosts = hosts
      self.deviceListener = deviceListener
      self.operatorListener = operatorListener
    }
  }

  /// Roles that act on the operators' listener, each with a folder of its own.
  public static let roles: [Role] = [.issuer, .controller, .policy, .monitor]

  /// Below the site's folder: what is made goes to its place when all of it is there.
  private static let draft = ".init"

  /// The draft.
  private let home: Home
  /// Where it will be.
  private let place: Home
  private let options: Options
  private let now: Int64

  /// Fills `folder`, which must be empty, or hold only what an interrupted call left, or not be there.
  @discardableResult
  public static func build(_ folder: String, _ options: Options, at now: Int64) throws -> Home {
    let folder = Home.absolute(folder)
    guard Home.names(in: folder).allSatisfy({ $0 == draft }) else { throw HomeError(.exists, "\(folder): not empty") }
    let settings = Settings(
      site: options.site, host: options.hosts[0], devicePort: UInt16(options.deviceListener.port),
      operatorPort: UInt16(options.operatorListener.port), serverName: options.hosts[0])
    let builder = SiteBuilder(Home(folder: folder, settings: settings), options, at: now)
    builder.removeDraft()
    do {
      try builder.build()
      try builder.move()
    } catch {
      builder.removeDraft()
      throw error
    }
    return builder.place
  }

  private init(_ place: Home, _ options: Options, at now: Int64) {
    self.place = place
    home = Home(folder: place.path(Self.draft), settings: place.settings)
    self.options = options
    self.now = now
  }

  private func build() throws {
    try Home.makeFolder(place.folder)
    for name in ["", "root", "tls", "trust", "devices", "broker", "broker/data"] + Self.roles.map(\.rawValue) {
      try Home.makeFolder(home.path(name))
    }
    let root = try makeRoot()
    let authority = try makeAuthority()
    let issuer = try makeIssuer(root, authority)
    var authorized: [String] = []
    for role in Self.roles where role != .issuer {
      let credential = try makeRole(role, issuer, authority)
      if role != .monitor { authorized.append(credential) }
    }
    try makeBroker(authority)
    try makeTrust(authorized)
    try Home.write(home.settings.json.text, to: home.path(Settings.file))
  }

  private func removeDraft() { _ = try? Directory.remove(home.folder) }

  private func move() throws {
    // Settings last: a folder with them is a whole one.
    for name in Home.names(in: home.folder).filter({ $0 != Settings.file }) + [Settings.file] {
      try retrying("rename", place.path(name)) { rename(home.path(name), place.path(name)) }
    }
    try retrying("remove", home.folder) { rmdir(home.folder) }
  }

  private func makeRoot() throws -> Root {
    let key = try FileKey.generate()
    try key.save(home.path(Home.File.rootKey))
    try Home.write(key.publicKey.jwk.json.text, to: home.path(Home.File.root))
    return Root(key: key)
  }

  private func makeAuthority() throws -> CertificateAuthority {
    let key = try FileKey.generate()
    let authority = try CertificateAuthority.create(site: options.site, key: key, at: now, until: now + options.life)
    try key.save(home.path(Home.File.authorityKey))
    try Home.write(try authority.certificate.pem(), to: home.path(Home.File.authority))
    return authority
  }

  private func makeIssuer(_ root: Root, _ authority: CertificateAuthority) throws -> Issuer {
    let party = Identity.party(.issuer, in: options.site)
    let key = try FileKey.generate()
    let credential = try root.issuer(party, key: key.publicKey.jwk, at: now, until: now + options.life)
    try save(.issuer, key, credential, authority)
    return Issuer(party: party, key: key, credential: credential)
  }

  private func makeRole(_ role: Role, _ issuer: Issuer, _ authority: CertificateAuthority) throws -> String {
    let key = try FileKey.generate()
    let grant = Grant(
      subject: Identity.party(role, in: options.site), role: role, key: key.publicKey.jwk,
      notBefore: now - Moment.leeway,
      expires: now + options.life)
    let credential = try issuer.credential(grant, at: now)
    try save(role, key, credential, authority)
    return credential
  }

  private func save(_ role: Role, _ key: FileKey, _ credential: String, _ authority: CertificateAuthority) throws {
    try RoleFiles(home: home, role: role).save(key, credential, authority, at: now, until: now + options.life)
  }

  private func makeBroker(_ authority: CertificateAuthority) throws {
    let key = try FileKey.generate()
    let certificate = try authority.sign(
      key, commonName: Name("broker")!, site: options.site, usage: .server(names: options.hosts), at: now,
      until: now + options.life)
    let folder = home.path(Home.File.broker)
    try key.save("\(folder)/broker.key")
    try Home.write(try certificate.pem(), to: "\(folder)/broker.pem")
    try Home.write(try authority.certificate.pem(), to: "\(folder)/ca.pem")
    let configuration = BrokerConfiguration(
      site: options.site, folder: place.path(Home.File.broker), deviceListener: options.deviceListener,
      operatorListener: options.operatorListener, user: geteuid() == 0 ? "root" : nil)
    try Home.write(configuration.main, to: "\(folder)/\(BrokerConfiguration.file)")
    try Home.write(configuration.devices, to: "\(folder)/\(BrokerConfiguration.deviceRules)")
    try Home.write(configuration.operators, to: "\(folder)/\(BrokerConfiguration.operatorRules)")
  }

  private func makeTrust(_ authorized: [String]) throws {
    var state = TrustState(life: options.trustLife)
    state.authorized = authorized
    try Home.write(state.json.text, to: home.path(Home.File.trustState))
    var desk = try IssuerDesk(home)
    try desk.renew(at: now)
  }
}
