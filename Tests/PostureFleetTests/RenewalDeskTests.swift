import Glibc
import Posture
import PostureMQTT
import PosturePlatform
import PostureTokens
import TestKit
import Testing

@testable import PostureFleet

/// What the issuer online answers, and what it does not.
@Suite struct RenewalDeskTests {
  private let folder: Folder
  private let home: Home
  private let key: FileKey
  private let tlsKey: FileKey
  private let now = Clock.wall
  private let life = 300 * IssuerDesk.day
  private let topic: String

  init() throws {
    folder = try Folder()
    home = try Home.built(folder.file("home"), at: now)
    key = try FileKey.generate()
    tlsKey = try FileKey.generate()
    topic = Topic(home.site, .request(Name("edge-1")!)).text
    var options = EnrolmentDesk.Options()
    (options.life, options.groups) = (life, [Name("lathe")!])
    _ = try EnrolmentDesk(home).enroll(EnrolmentRequest(request()), options, at: now)
  }

  private func request(_ name: String = "edge-1", _ key: FileKey? = nil) throws -> [UInt8] {
    Array(try EnrolmentRequest.make(name: Name(name), key: key ?? self.key, tlsKey: tlsKey, at: now).utf8)
  }

  private func isRefused(_ bytes: [UInt8], _ topic: String? = nil, because words: String) -> Bool {
    do {
      _ = try RenewalDesk(home).answer(bytes, on: topic ?? self.topic, at: now)
      return false
    } catch let error as HomeError { return error.code == .refused && error.description.contains(words) } catch {
      return words == "token"
    }
  }

  /// The answer as the device reads it.
  private func read(_ answer: RenewalDesk.Answer, at now: Int64) throws -> (RenewalClaims, Credential) {
    var verifier = DeviceVerifier(
      device: Party(home.site, Name("edge-1")!), groups: [], trust: try IssuerDesk(home).store(at: self.now))
    let old = try Issuer(
      party: Identity(.issuer, in: home).party, key: Identity(.issuer, in: home).key,
      credential: Identity(.issuer, in: home).credential
    ).credential(
      Grant(
        subject: Party(home.site, Name("edge-1")!), role: .device, key: key.publicKey.jwk, notBefore: 1, expires: 2),
      at: 1)
    let current = try verifier.trust.credential(Array(old.utf8))
    #expect(Topic(answer.publication.topic)?.place == .renewal(Name("edge-1")!) && answer.publication.retain)
    let renewal = try verifier.renewal(answer.publication.payload, of: current, at: Moment(now))
    return try #require(renewal)
  }

  @Test func `in the last third a device gets as long a life again, with its groups`() throws {
    let later = now + life * 2 / 3 + 60
    let answer = try RenewalDesk(home).answer(request(), on: topic, at: later)
    #expect(answer.until == later + life)
    let (claims, credential) = try read(answer, at: later)
    #expect(credential.kid == key.publicKey.kid && credential.grant.expires == later + life)
    #expect(credential.grant.groups == [Name("lathe")!])
    let certificate = try Certificate(pem: claims.tlsCertificate)
    #expect(certificate.belongs(to: tlsKey) && certificate.commonName == "edge-1")
    #expect(certificate.notAfter == later + life)
    #expect(try DeviceRecord.load(Name("edge-1")!, kid: key.publicKey.kid, in: home)?.expires == later + life)
  }

  @Test func `asked for before that, it ends when it would have`() throws {
    for seconds: Int64 in [10, 100, 1_000] {
      let answer = try RenewalDesk(home).answer(request(), on: topic, at: now + seconds)
      #expect(answer.until == now + life)
      #expect(try read(answer, at: now + seconds).1.grant.expires == now + life)
    }
  }

  @Test func `another issuer, or one under another root, gives a whole life`() throws {
    _ = try RotationDesk(home).rotateIssuer(at: now)
    #expect(try RenewalDesk(home).answer(request(), on: topic, at: now + 10).until == now + 10 + life)
    #expect(try RenewalDesk(home).answer(request(), on: topic, at: now + 20).until == now + 10 + life)
    _ = try RotationDesk(home).rotateRoot(overlap: IssuerDesk.day, at: now + 30)
    #expect(try RenewalDesk(home).answer(request(), on: topic, at: now + 40).until == now + 40 + life)
  }

  @Test func `nobody else is answered`() throws {
    let stranger = try FileKey.generate()
    #expect(isRefused(try request("edge-1", stranger), because: "not enrolled"))
    #expect(isRefused(try request("edge-2"), because: "somebody else"))
    let other = Topic(home.site, .request(Name("edge-2")!)).text
    #expect(isRefused(try request("edge-2"), other, because: "not enrolled"))
    for topic in [Topic(home.site, .keys(Name("edge-1")!)).text, "posture/v1/site-b/d/edge-1/request", "x"] {
      #expect(isRefused(try request(), topic, because: "no requests"))
    }
    let claims = EnrolmentRequestClaims(
      name: Name("edge-1")!, issuedAt: now, key: key.publicKey.jwk, keyProtection: .tpm,
      tlsRequest: try CertificateRequest.make(key: tlsKey, commonName: "edge-1").der())
    #expect(isRefused(Array(try TokenEncoder.encode(.request, claims.claims, with: key).utf8), because: "in a file"))
    var forged = try request()
    forged[forged.count - 5] ^= 1
    for bytes in [forged, [], Array("nonsense".utf8)] { #expect(isRefused(bytes, because: "token")) }
    var desk = try IssuerDesk(home)
    _ = try desk.revoke("edge-1", at: now)
    #expect(isRefused(try request(), because: "revoked"))
  }

  @Test func `the trust document is renewed in its last third, and not before`() throws {
    let desk = RenewalDesk(home)
    #expect(try desk.keepTrust(at: now + 59 * IssuerDesk.day) == nil)
    #expect(try desk.keepTrust(at: now + 60 * IssuerDesk.day) == 2)
    #expect(try desk.keepTrust(at: now + 61 * IssuerDesk.day) == nil)
  }
}
