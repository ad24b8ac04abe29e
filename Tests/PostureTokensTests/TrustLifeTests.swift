import Posture
import PosturePlatform
@testable import PostureTokens
import TestKit
import Testing

/// Trust over years: renewal, expiry, rotation of every key, restarts, and large sites.
@Suite struct TrustLifeTests {
  let site: TestSite
  let audience: Audience
  let topic: Topic
  let day: Int64 = 86_400

  init() throws {
    site = try TestSite()
    audience = .device(site.party("edge-0042"))
    topic = audience.recheckTopic
  }

  private func device(_ store: TrustStore) -> DeviceVerifier {
    DeviceVerifier(device: site.party("edge-0042"), groups: [], trust: store)
  }

  /// The issuer as it comes from its two files; the root's is nowhere.
  @Test func `renewal with the root's file absent`() throws {
    try TemporaryFolder.with { folder in
      try (site.issuer.key as! FileKey).save("\(folder)/issuer.pem")
      try AtomicFile.write(Array(site.issuer.credential.utf8), to: "\(folder)/issuer.jwt")
      let credential = String(decoding: try AtomicFile.read("\(folder)/issuer.jwt"), as: UTF8.self)
      let issuer = Issuer(
        party: site.issuer.party, key: try FileKey.load("\(folder)/issuer.pem"), credential: credential)
      var store = try site.store()
      let later = Moment(site.now + 11 * day)
      #expect(store.needsRenewal(at: later))
      let renewed = try issuer.trust(
        version: 2, at: later.seconds, until: later.seconds + 30 * day, authorized: store.current!.authorized)
      try store.accept(Array(renewed.utf8), at: later)
      #expect(!store.needsRenewal(at: later))
      let much = Moment(site.now + 20 * day)
      #expect(!store.isExpired(at: much))
    }
  }

  @Test func `past its end reports go on and commands are marked`() throws {
    let store = try site.store()
    let late = site.now + 12 * day
    #expect(store.isExpired(at: Moment(late)))
    let command = Array(try site.recheck(audience, at: site.now).utf8)
    let early = try device(store).command(command, on: topic, at: Moment(site.now))
    #expect(!early.isTrustExpired)
    // The controller's own grant ends at the same time as the document in this site.
    #expect { try device(store).command(command, on: topic, at: Moment(late)) } throws: {
      ($0 as? TokenError)?.code == .expired
    }
    // A clock that is not trusted, and stands before: nothing is past.
    #expect(!store.isExpired(at: Moment(1, isTrusted: false)))
  }

  @Test func `warning at a third of the life that is left`() throws {
    let store = try site.store()
    let life = store.current!.expires - store.current!.issuedAt
    let edge = store.current!.expires - life / 3
    #expect(!store.needsRenewal(at: Moment(edge - 1)))
    #expect(store.needsRenewal(at: Moment(edge)))
  }

  @Test func `a restart forgets nothing`() throws {
    var store = try site.store()
    let next = try FileKey.generate()
    let rotation = try site.root.rotation(
      to: next.publicKey.jwk, at: site.now, until: site.now + 1_000 * day, previousUntil: site.now + day)
    let second = try site.issuer.trust(
      version: 5, at: site.now, until: site.now + 10 * day, authorized: store.current!.authorized,
      rootRotations: [rotation])
    try store.accept(Array(second.utf8), at: Moment(site.now))
    let saved = try JSONParser.parse(store.saved.bytes)
    var again = try TrustStore(site: site.name, root: site.root.jwk)
    again.restore(saved)
    #expect(again.current == store.current)
    #expect(again.floor == 5)
    #expect(again.anchors.keys(at: Moment(site.now)) == store.anchors.keys(at: Moment(site.now)))
    #expect(again.anchors.keys(at: Moment(site.now + 2 * day)) == [next.publicKey.kid])
    #expect { try again.accept(Array(site.trust(version: 4).utf8), at: Moment(site.now)) } throws: {
      ($0 as? TokenError)?.code == .rollback
    }
  }

  @Test func `a damaged file keeps the floor, and signs nothing`() throws {
    var store = try TrustStore(site: site.name, root: site.root.jwk)
    let forged = try site.trust(version: 9).dropLast(3) + "AAA"
    store.restore(["floor": 7, "trust": .string(String(forged))])
    #expect(store.current == nil)
    #expect(store.floor == 7)
    #expect { try store.accept(Array(site.trust(version: 6).utf8), at: Moment(site.now)) } throws: {
      ($0 as? TokenError)?.code == .rollback
    }
    try store.accept(Array(site.trust(version: 7).utf8), at: Moment(site.now))
    store.restore(.null)
    #expect(store.floor == 7)
  }

  @Test func `rotation of controller, device, issuer and root without a gap`() throws {
    let now = site.now
    var store = try site.store()
    let newController = try FileKey.generate()
    let both = [
      site.grant("controller", .controller, site.controller.publicKey),
      site.grant("controller", .controller, newController.publicKey),
    ]
    // The new issuer goes back to the new root; the old root and issuer are still good.
    let newRoot = Root(key: try FileKey.generate())
    let rotation = try site.root.rotation(
      to: newRoot.jwk, at: now, until: now + 1_000 * day, previousUntil: now + 5 * day)
    let issuerKey = try FileKey.generate()
    let newIssuer = Issuer(
      party: site.party("issuer-b"), key: issuerKey,
      credential: try newRoot.issuer(
        site.party("issuer-b"), key: issuerKey.publicKey.jwk, at: now, until: now + 900 * day))
    let trust = try newIssuer.trust(
      version: 2, at: now, until: now + 8 * day, authorized: both, rootRotations: [rotation])
    try store.accept(Array(trust.utf8), at: Moment(now))
    for key in [site.controller, newController] {
      let claims = RecheckClaims(
        issuer: site.party("controller"), audience: audience, issuedAt: now, expires: now + 60, id: "jti-0001",
        nonce: "nonce-0001")
      let token = try TokenEncoder.encode(.command, claims.claims, with: key)
      #expect(try device(store).command(Array(token.utf8), on: topic, at: Moment(now)).kid == key.publicKey.kid)
    }
    var monitor = MonitorVerifier(trust: store)
    let keys = Topic(site.name, .keys(Name("edge-0042")!)).text
    let (old, new) = (try FileKey.generate(), try FileKey.generate())
    let oldKeys = try site.credential("edge-0042", old.publicKey)
    let newKeys = try newIssuer.credential(site.grant("edge-0042", .device, new.publicKey), at: now)
    for credential in [oldKeys, newKeys] { _ = monitor.receive(Array(credential.utf8), on: keys, at: Moment(now)) }
    #expect(monitor.standing(of: old.publicKey.kid, at: Moment(now)) == .good)
    #expect(monitor.standing(of: new.publicKey.kid, at: Moment(now)) == .good)
    // Once the old root is over, so is all that goes back to it.
    #expect(monitor.standing(of: old.publicKey.kid, at: Moment(now + 6 * day)) == .expired)
    #expect(monitor.standing(of: new.publicKey.kid, at: Moment(now + 6 * day)) == .good)
  }

  @Test func `a device takes only a newer credential for its own key`() throws {
    let key = try FileKey.generate()
    let now = Moment(site.now)
    var verifier = device(try site.store())
    let current = try verifier.trust.anchors.credential(Array(site.credential("edge-0042", key.publicKey).utf8))
    func offer(_ name: String, _ key: PublicKey, at: Int64) throws -> Credential {
      let text = try site.issuer.credential(site.grant(name, .device, key), at: at)
      return try verifier.successor(Array(text.utf8), of: current, at: now)
    }
    #expect(try offer("edge-0042", key.publicKey, at: site.now + 1).claims.issuedAt == site.now + 1)
    #expect { try offer("edge-0042", key.publicKey, at: site.now) } throws: { ($0 as? TokenError)?.code == .rollback }
    #expect { try offer("edge-0043", key.publicKey, at: site.now + 1) } throws: {
      ($0 as? TokenError)?.code == .subject
    }
    let other = try FileKey.generate()
    #expect { try offer("edge-0042", other.publicKey, at: site.now + 1) } throws: {
      ($0 as? TokenError)?.code == .subject
    }
  }

  @Test func `100,000 devices, 5 % revoked, stay inside every size limit`() throws {
    let kids = (0..<100_000).map { number in
      SHA256.text(of: [UInt8(number & 255), UInt8(number >> 8 & 255), UInt8(number >> 16)])
    }
    let revoked = stride(from: 0, to: kids.count, by: 20).map { kids[$0] }
    #expect(revoked.count == 5_000)
    let (parts, list) = try site.issuer.revoked(revoked, version: 1, at: site.now)
    let sizes = parts.map(\.utf8.count)
    print("revoked: \(parts.count) parts, the largest of \(sizes.max()!) bytes")
    #expect(sizes.allSatisfy { $0 <= 24 * 1_024 })
    let trust = try site.issuer.trust(
      version: 2, at: site.now, until: site.now + 30 * day, authorized: site.store().current!.authorized,
      revokedList: list)
    var monitor = MonitorVerifier(trust: try site.store())
    _ = monitor.receive(Array(trust.utf8), on: Topic(site.name, .trust).text, at: Moment(site.now))
    for (number, part) in parts.enumerated() {
      let topic = RevokedClaims.topic(site.name, part: number).text
      #expect(monitor.receive(Array(part.utf8), on: topic, at: Moment(site.now)) == [.revoked(part: number)])
    }
    let found = kids.filter { monitor.revoked.contains($0, as: monitor.trust.current?.revokedList) == true }
    #expect(found.count == 5_000)
    #expect(throws: Issuer.RevocationError.self) {
      try site.issuer.revoked(kids, version: 2, at: site.now)
    }
  }

  @Test func `the largest documents are within their limits`() throws {
    let name = String(repeating: "n", count: 63)
    let groups = (0..<32).map { Name("g\($0)")! }
    let keys = try (0..<TrustClaims.mostAuthorities).map { _ in try FileKey.generate() }
    let kid = SHA256.text(of: [])
    let trust = try site.issuer.trust(
      version: .max, at: site.now, until: site.now + day,
      authorized: keys.map { site.grant(name, .controller, $0.publicKey) },
      revokedAuthorities: Array(repeating: kid, count: TrustClaims.mostRevokedAuthorities),
      revokedList: .init(version: .max, parts: RevokedClaims.mostParts, digest: kid),
      rootRotations: try (0..<4).map { _ in
        try site.root.rotation(
          to: keys[0].publicKey.jwk, at: site.now, until: site.now + 10, previousUntil: site.now + 5)
      })
    let credential = try site.issuer.credential(
      site.grant(name, .device, keys[0].publicKey, groups: groups), at: site.now)
    print("trust \(trust.utf8.count), credential \(credential.utf8.count) bytes")
    #expect(trust.utf8.count <= TokenKind.trust.sizeLimit)
    #expect(credential.utf8.count <= TokenKind.credential.sizeLimit)
    #expect {
      try TokenEncoder.encode(.presence, ["x": .string(String(repeating: "x", count: 5_000))], with: keys[0])
    } throws: {
      ($0 as? KeyError)?.code == .size
    }
  }
}
