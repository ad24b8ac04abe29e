import Glibc
import Posture
import PostureMQTT
import PosturePlatform
import PostureTokens
import TestKit
import Testing

@testable import PostureFleet

/// New keys for everybody, seen by a device and a monitor that pinned the root of the first day.
@Suite struct RotationTests {
  private static let year = 365 * IssuerDesk.day

  private struct Observers {
    let home: Home
    let now: Int64
    var device: DeviceVerifier
    var monitor: MonitorVerifier
    private let keys: String

    init(_ home: Home, at now: Int64) throws {
      self.home = home
      self.now = now
      let store = try TrustStore(site: home.site, root: home.root())
      device = DeviceVerifier(device: Party(home.site, Name("edge-1")!), groups: [], trust: store)
      monitor = MonitorVerifier(trust: store)
      keys = Topic(home.site, .keys(Name("edge-1")!)).text
      try hear(IssuerDesk(home))
    }

    /// What the broker would bring.
    mutating func hear(_ desk: IssuerDesk, at later: Int64? = nil) throws {
      let moment = Moment(later ?? now)
      for publication in try desk.publications() {
        let outcome = monitor.receive(publication.payload, on: publication.topic, at: moment)
        if case .rejected(_, let error)? = outcome.first { throw error }
      }
      try device.trust.accept(Array(Home.read(text: home.path(Home.File.trust)).utf8), at: moment)
    }

    mutating func meet(_ credential: String) throws -> String {
      let outcome = monitor.receive(Array(credential.utf8), on: keys, at: Moment(now))
      guard case .credential(let known, _)? = outcome.first else { throw HomeError(.refused, "\(outcome)") }
      return known.kid
    }

    func standing(_ kid: String, at later: Int64? = nil) -> MonitorVerifier.Standing {
      monitor.standing(of: kid, at: Moment(later ?? now))
    }

    /// Whether the device takes a command of this identity.
    func obeys(_ identity: Identity) -> Bool {
      let audience = Audience.device(device.device)
      guard let command = try? RecheckCommand(audience, from: identity, at: now) else { return false }
      return (try? device.command(Array(command.token.utf8), on: audience.recheckTopic, at: Moment(now))) != nil
    }
  }

  private func with(_ body: (Home, Int64, inout Observers) throws -> Void) throws {
    try TemporaryFolder.with { folder in
      let now = Clock.wall
      let home = try Home.built("\(folder)/home", at: now)
      var observers = try Observers(home, at: now)
      try body(home, now, &observers)
    }
  }

  private func enroll(_ home: Home, _ key: FileKey = try! FileKey.generate(), at now: Int64) throws -> String {
    let request = try EnrolmentRequest.make(name: Name("edge-1"), key: key, tlsKey: FileKey.generate(), at: now)
    var options = EnrolmentDesk.Options()
    options.replaces = true
    return try EnrolmentDesk(home).enroll(EnrolmentRequest(Array(request.utf8)), options, at: now).credential
  }

  private func takeRootAway(_ home: Home) throws {
    try #require(rename(home.path("root"), home.path("root.away")) == 0)
  }

  @Test(arguments: [Role.controller, .policy])
  func `a signer's new key is known before it is used, and the old one still is`(_ role: Role) throws {
    try with { home, now, observers in
      try takeRootAway(home)
      let old = try Identity(role, in: home)
      let change = try RotationDesk(home).rotate(role, at: now) { desk in
        // Whoever publishes does so while the old key is the one in use.
        #expect(try Identity(role, in: home).key.publicKey == old.key.publicKey)
        try observers.hear(desk)
      }
      let new = try Identity(role, in: home)
      #expect(change.new == new.key.publicKey.kid && change.old == old.key.publicKey.kid && change.new != change.old)
      #expect(try Certificate(pem: Home.read(text: home.path("\(role.rawValue)/tls.pem"))).commonName == role.rawValue)
      guard role == .controller else { return }
      #expect(observers.obeys(old) && observers.obeys(new))
      var desk = try IssuerDesk(home)
      _ = try desk.revoke(change.old, at: now)
      try observers.hear(desk)
      #expect(!observers.obeys(old) && observers.obeys(new))
    }
  }

  @Test func `a rotation that cannot be published changes nothing, and goes on later`() throws {
    try with { home, now, observers in
      let old = try Identity(.controller, in: home)
      var authorized = ""
      #expect(throws: HomeError.self) {
        try RotationDesk(home).rotate(.controller, at: now) { desk in
          authorized = desk.state.authorized.last ?? ""
          throw HomeError(.system, "no broker")
        }
      }
      #expect(try Identity(.controller, in: home).key.publicKey == old.key.publicKey)
      #expect(observers.obeys(old))
      _ = try RotationDesk(home).rotate(.controller, at: now) { try observers.hear($0) }
      let new = try Identity(.controller, in: home)
      #expect(new.credential == authorized)
      #expect(observers.obeys(old) && observers.obeys(new))
      #expect(try IssuerDesk(home).state.authorized.count == 3)
    }
  }

  @Test func `a new issuer signs beside the old one, which then can be revoked`() throws {
    try with { home, now, observers in
      let first = try observers.meet(enroll(home, at: now))
      let change = try RotationDesk(home).rotateIssuer(at: now)
      try observers.hear(IssuerDesk(home))
      let second = try observers.meet(enroll(home, at: now + 1))
      #expect(observers.standing(first) == .good && observers.standing(second) == .good)
      #expect(observers.obeys(try Identity(.controller, in: home)))
      var desk = try IssuerDesk(home)
      #expect(throws: HomeError.self) { try desk.revoke(change.old, at: now) }
      #expect(throws: HomeError.self) { try desk.revokeIssuer(change.new, at: now) }
      _ = try desk.revokeIssuer(change.old, at: now)
      try observers.hear(desk)
      #expect(observers.standing(first) == .revoked && observers.standing(second) == .good)
    }
  }

  @Test func `a new root is followed by everybody, and the old one ends`() throws {
    try with { home, now, observers in
      let first = try observers.meet(enroll(home, at: now))
      let oldRoot = try home.root()
      let change = try RotationDesk(home).rotateRoot(overlap: 90 * IssuerDesk.day, at: now)
      try observers.hear(IssuerDesk(home))
      let second = try observers.meet(enroll(home, at: now + 1))
      #expect(observers.standing(first) == .good && observers.standing(second) == .good)
      let later = now + 89 * IssuerDesk.day
      #expect(observers.standing(first, at: later) == .good)
      // Long before that a device asks for another credential.
      let key = try FileKey.generate()
      let credential = try enroll(home, key, at: now)
      var trust = observers.device.trust
      let time = RenewalTime(of: try trust.credential(Array(credential.utf8)), under: trust, share: 1)
      #expect(time.due > now + Self.year * 2 / 3 - 2)
      let end = now + 91 * IssuerDesk.day
      var desk = try IssuerDesk(home)
      try desk.renew(at: end)
      try observers.hear(desk, at: end)
      #expect(observers.standing(first, at: end) == .expired && observers.standing(second, at: end) == .good)
      // Who pins the root of today, and who comes late with that of before.
      for root in [oldRoot, try FileKey.load(home.path(Home.File.rootKey)).publicKey.jwk] {
        var store = try TrustStore(site: home.site, root: root)
        try store.accept(Array(Home.read(text: home.path(Home.File.trust)).utf8), at: Moment(end))
      }
      #expect(try FileKey.load("\(home.path(Home.File.rootKey)).old").publicKey.kid == change.old)
      // Once more, from the new one.
      let again = try RotationDesk(home).rotateRoot(overlap: 90 * IssuerDesk.day, at: end)
      #expect(again.old == change.new)
      try observers.hear(IssuerDesk(home), at: end)
      #expect(observers.standing(second, at: end) == .good)
    }
  }

  @Test func `a device under a root that ends asks in the last third of what is left of it`() throws {
    try with { home, now, observers in
      let credential = try enroll(home, at: now)
      _ = try RotationDesk(home).rotateRoot(overlap: 90 * IssuerDesk.day, at: now)
      try observers.hear(IssuerDesk(home))
      var trust = observers.device.trust
      let known = try trust.credential(Array(credential.utf8))
      let times = [0, 0.5, 1].map { RenewalTime(of: known, under: trust, share: $0) }
      #expect(times.allSatisfy { $0.due >= now + 60 * IssuerDesk.day && $0.due <= now + 68 * IssuerDesk.day })
      #expect(times[0].due < times[1].due && times[1].due < times[2].due)
    }
  }

  @Test func `a root's rotation that was interrupted is brought to its end`() throws {
    try with { home, now, observers in
      let old = Root(key: try FileKey.load(home.path(Home.File.rootKey)))
      let key = try FileKey.generate()
      try key.save("\(home.path(Home.File.rootKey)).next")
      let rotation = try old.rotation(
        to: key.publicKey.jwk, at: now, until: now + Self.year, previousUntil: now + IssuerDesk.day)
      try IssuerDesk(home).adopt(rotation: rotation, at: now)
      let change = try RotationDesk(home).rotateRoot(overlap: IssuerDesk.day, at: now)
      #expect(change.new == key.publicKey.kid)
      try observers.hear(IssuerDesk(home))
      let kid = try observers.meet(enroll(home, at: now))
      #expect(observers.standing(kid) == .good)
    }
  }

  @Test func `without the root's key all but its own work is done`() throws {
    try with { home, now, observers in
      try takeRootAway(home)
      var desk = try IssuerDesk(home)
      try desk.renew(at: now)
      try observers.hear(desk)
      let kid = try observers.meet(enroll(home, at: now))
      #expect(observers.standing(kid) == .good)
      for attempt in [
        { try RotationDesk(home).rotateIssuer(at: now) },
        {
          try RotationDesk(home).rotateRoot(overlap: 1, at: now)
        },
      ] {
        #expect { try attempt() } throws: { ($0 as? HomeError)?.code == .missing }
      }
      // A stranger's root is none.
      try FileKey.generate().save(home.path("stranger.key"))
      #expect { try RotationDesk(home).rotateIssuer(rootKey: home.path("stranger.key"), at: now) } throws: {
        ($0 as? HomeError)?.code == .refused
      }
      #expect(
        try RotationDesk(home).rotateIssuer(rootKey: home.path("root.away/root.key"), at: now).new.utf8.count == 43)
    }
  }

  @Test func `a key in its last third is warned of`() throws {
    try with { home, now, _ in
      let desk = try IssuerDesk(home)
      let life = 3_650 * IssuerDesk.day
      #expect(try desk.signers(at: now).map(\.role) == [.issuer, .controller, .policy])
      #expect(try desk.signers(at: now).allSatisfy { !$0.needsRotation(at: now + life / 2) })
      #expect(try desk.signers(at: now).allSatisfy { $0.needsRotation(at: now + life * 2 / 3 + 60) })
    }
  }
}
