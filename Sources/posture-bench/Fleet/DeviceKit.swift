import Posture
import PostureFleet
import PostureMQTT
import PosturePlatform
import PostureTokens

/// What one simulated device has: its own key, credential and certificate, and its first tokens.
struct DeviceKit: Sendable {
  let party: Party
  let key: FileKey
  let credential: String
  let tls: TLSFiles
  let will: String
  let presence: String
  /// The first report; the claims of later ones differ in number, time and nonce.
  let report: String
  let claims: ReportClaims
  /// What is said on taking a command, of the size that it will have.
  let progress: String

  /// Devices `d-00001` and so on, taken in by the site of `home`.
  static func make(_ numbers: ClosedRange<Int>, in home: Home) throws(BenchError) -> [DeviceKit] {
    let claims = Recording.report(try Recording.evidence(), site: home.site)
    do {
      let office = try Office(home)
      return try numbers.map { try DeviceKit($0, office, claims) }
    } catch { throw BenchError("\(error)") }
  }

  /// What takes devices in.
  private struct Office {
    let home: Home
    let issuer: Issuer
    let authority: CertificateAuthority
    /// PEM.
    let certificate: String

    init(_ home: Home) throws {
      self.home = home
      let identity = try Identity(.issuer, in: home)
      issuer = Issuer(party: identity.party, key: identity.key, credential: identity.credential)
      certificate = try Home.read(text: home.path(Home.File.authority))
      authority = try CertificateAuthority(
        key: try FileKey.load(home.path(Home.File.authorityKey)), certificate: try Certificate(pem: certificate))
    }
  }

  private init(_ number: Int, _ office: Office, _ claims: ReportClaims) throws {
    let digits = String(number)
    let name = Name("d-" + String(repeating: "0", count: max(0, 5 - digits.count)) + digits)!
    let now = Clock.wall
    let until = now + 86_400
    let tlsKey = try FileKey.generate()
    key = try FileKey.generate()
    party = Party(office.home.site, name)
    credential = try office.issuer.credential(
      Grant(subject: party, role: .device, key: key.publicKey.jwk, notBefore: now - 60, expires: until), at: now)
    let certificate = try office.authority.sign(
      tlsKey, commonName: name, site: party.site, usage: .client, at: now, until: until)
    tls = TLSFiles(
      authorities: .text(office.certificate), certificate: .text(try certificate.pem()),
      key: .text(String(decoding: try tlsKey.pem(), as: UTF8.self)), serverName: office.home.settings.serverName)
    will = try Self.presence(.offline, party, key)
    presence = try Self.presence(.online, party, key)
    var own = claims
    own.issuer = party
    own.sequence = 1
    self.claims = own
    report = try TokenEncoder.encode(.report, own.claims, with: key)
    let line = ProgressClaims(
      issuer: party, issuedAt: now, command: Base64URL.encode(Random.bytes(16)), state: .accepted)
    progress = try TokenEncoder.encode(.progress, line.claims, with: key)
  }

  private static func presence(_ state: PresenceClaims.State, _ party: Party, _ key: FileKey) throws -> String {
    let claims = PresenceClaims(
      issuer: party, issuedAt: Clock.wall, state: state, connection: Base64URL.encode(Random.bytes(16)), number: 1,
      clock: .synced)
    return try TokenEncoder.encode(.presence, claims.claims, with: key)
  }

  func topic(_ place: (Name) -> Topic.Place) -> String { Topic(party.site, place(party.name)).text }

  func publication(_ place: (Name) -> Topic.Place, _ kind: TokenKind, _ token: String) -> Publication {
    let topic = Topic(party.site, place(party.name))
    return Publication(
      topic.text, text: token, retain: topic.isRetained, contentType: "application/\(kind.rawValue)")
  }

  /// What a device publishes when it has come online.
  var state: [Publication] {
    [
      publication(Topic.Place.keys, .credential, credential),
      publication(Topic.Place.presence, .presence, presence),
      publication(Topic.Place.report, .report, report),
    ]
  }
}
