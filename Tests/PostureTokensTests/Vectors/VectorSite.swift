import Posture
import PosturePlatform
@testable import PostureTokens
import TestKit

/// The site that the vectors are about, with the committed test keys.
struct VectorSite {
  static let now: Int64 = 1_790_000_000
  static let year: Int64 = 365 * 86_400

  let name = Name("site-a")!
  let device = Name("edge-0042")!
  let root = Root(key: Self.key("root"))
  let issuer: Issuer
  let deviceKey = Self.key("device")
  let controller = Self.key("controller")
  let policySigner = Self.key("policy")
  let lathe = Name("lathe")!

  static func key(_ name: String) -> FileKey {
    try! FileKey(pem: try! AtomicFile.readAny(Repository.path("Tests/Keys/TEST-ONLY-\(name).pem")))
  }

  init() throws { issuer = try Self.issuer("issuer", of: Root(key: Self.key("root"))) }

  static func issuer(
    _ name: String, key: String? = nil, of root: Root, site: String = "site-a", from: Int64 = now - year,
    until: Int64 = now + year
  ) throws -> Issuer {
    let party = Party(Name(site)!, Name(name)!)
    let key = Self.key(key ?? name)
    return Issuer(
      party: party, key: key,
      credential: try root.issuer(party, key: key.publicKey.jwk, at: from, until: until))
  }

  func party(_ name: String) -> Party { Party(self.name, Name(name)!) }

  func grant(
    _ name: String, _ role: Role, _ key: FileKey, groups: [Name] = [], from: Int64 = now - 86_400,
    until: Int64 = now + year
  ) -> Grant {
    Grant(
      subject: party(name), role: role, groups: groups, key: key.publicKey.jwk, notBefore: from, expires: until)
  }

  var authorized: [Grant] {
    [
      grant("controller", .controller, controller), grant("policy", .policy, policySigner),
      grant("lathe-controller", .controller, Self.key("lathe-controller"), groups: [Name("press")!]),
    ]
  }

  func trust(
    _ version: Int64 = 2, by issuer: Issuer? = nil, at: Int64 = now - 3_600, until: Int64 = now + 30 * 86_400,
    authorized: [Grant]? = nil, revoked: [String] = [], list: TrustClaims.RevokedList? = nil, rotations: [String] = []
  ) throws -> String {
    try (issuer ?? self.issuer).trust(
      version: version, at: at, until: until, authorized: authorized ?? self.authorized, revokedAuthorities: revoked,
      revokedList: list, rootRotations: rotations)
  }

  func keys(
    _ name: String = "edge-0042", key: FileKey? = nil, role: Role = .device, by issuer: Issuer? = nil,
    at: Int64 = now - 3_600, until: Int64 = now + year
  ) throws -> String {
    let key = key ?? deviceKey
    return try (issuer ?? self.issuer).credential(
      grant(name, role, key, groups: [lathe], until: until), at: at)
  }

  // MARK: Claims of each kind, as they should be

  static let evidence = Judge.evidence(of: ProbeResult(), under: .entry)

  func report(_ change: (inout ReportClaims) -> Void = { _ in }) -> JSON {
    var claims = ReportClaims(
      issuer: party("edge-0042"), ueid: "AX88mhviXUQIpsHQ6Ut3E_I", issuedAt: Self.now - 60, expires: Self.now + 3_840,
      nonces: ["kq3rT0v1zB8w5mXh2uPz1A"], bootSeed: "ABEiM0RVZneImaq7zN3u_w", bootCount: 17, uptime: 86_423,
      sequence: 412, clock: .synced, cause: .recheck, softwareVersion: "1.0.0", keyProtection: .file,
      chain: .init(chain: "Vw3x0cP8aT2k", number: 0, digest: nil), policyDigest: Policy.entry.digest,
      evidence: Self.evidence)
    change(&claims)
    return claims.claims
  }

  func presence(_ state: PresenceClaims.State = .online) -> JSON {
    PresenceClaims(
      issuer: party("edge-0042"), issuedAt: Self.now - 60, state: state, connection: "u8d1Jm2sQ0yV", number: 9,
      clock: .synced
    ).claims
  }

  func event(_ body: EventClaims.Body, number: Int64 = 1, previous: String? = nil) -> JSON {
    EventClaims(
      issuer: party("edge-0042"), issuedAt: Self.now - 60, clock: .synced, chain: "Vw3x0cP8aT2k", number: number,
      previous: previous, body: body
    ).claims
  }

  static let change = EventClaims.Body.change(
    EventClaims.Change(
      from: .pass, to: .fail, policy: "entry", report: 412,
      appeared: [.init(code: "autologin", check: .ownerAuthentication, subject: "pi", door: "login@tty1")],
      resolved: []))

  func progress() -> JSON {
    ProgressClaims(issuer: party("edge-0042"), issuedAt: Self.now, command: "c7f3a1b2d4", state: .running).claims
  }

  func refusal() -> JSON {
    RefusalClaims(
      issuer: party("edge-0042"), issuedAt: Self.now, command: "c7f3a1b2d4", controller: controller.publicKey.kid,
      code: .rateLimited
    ).claims
  }

  func command(_ audience: Audience? = nil, by issuer: String = "controller") -> JSON {
    RecheckClaims(
      issuer: party(issuer), audience: audience ?? .device(party("edge-0042")), issuedAt: Self.now - 5,
      expires: Self.now + 115, id: "c7f3a1b2d4", nonce: "kq3rT0v1zB8w5mXh2uPz1A"
    ).claims
  }

  func policy(_ audience: Audience? = nil, by issuer: Party? = nil, root: Bool = false, version: Int64 = 1) -> JSON {
    PolicyClaims(
      issuer: root ? nil : issuer ?? party("policy"), audience: audience ?? .site(name), version: version,
      issuedAt: Self.now - 3_600, policy: .stolen
    ).claims
  }

  static let certificate = Result {
    let authority = try CertificateAuthority.create(
      site: Name("site-a")!, key: key("issuer"), at: now - year, until: now + year)
    return try authority.sign(
      key("device-2"), commonName: Name("edge-0042")!, site: Name("site-a")!, usage: .client, at: now, until: now + year
    ).pem()
  }

  func renewal(
    of name: String = "edge-0042", key: FileKey? = nil, role: Role = .device, by issuer: Issuer? = nil,
    at: Int64 = now, until: Int64 = now + year
  ) throws -> String {
    let issuer = issuer ?? self.issuer
    return try issuer.renewal(
      of: party(name), credential: keys(name, key: key, role: role, by: issuer, at: at, until: until),
      tlsCertificate: Self.certificate.get(), at: at)
  }

  func request() throws -> EnrolmentRequestClaims {
    EnrolmentRequestClaims(
      name: device, issuedAt: Self.now, key: deviceKey.publicKey.jwk, keyProtection: .file,
      tlsRequest: try CertificateRequest.make(key: Self.key("device-2"), commonName: "edge-0042").der(), host: "edge")
  }
}
