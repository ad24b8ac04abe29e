import Posture
import PostureMQTT
import PosturePlatform
import PostureTokens
import TestKit
import Testing

@testable import PostureFleet

/// Several hands in one folder at once.
@Suite struct IssuerDeskTests {
  private let folder: Folder
  private let home: Home
  private let now = Clock.wall

  init() throws {
    folder = try Folder()
    home = try Home.built(folder.file("home"), at: now)
  }

  @discardableResult
  private func enroll(_ name: String) throws -> DeviceRecord {
    let request = try EnrolmentRequest.make(
      name: Name(name), key: FileKey.generate(), tlsKey: FileKey.generate(), at: now)
    _ = try EnrolmentDesk(home).enroll(EnrolmentRequest(Array(request.utf8)), .init(), at: now)
    return try #require(try DeviceRecord.all(in: home).first { $0.name.description == name })
  }

  @Test func `none of several changes at once is lost`() throws {
    let (home, now) = (home, now)
    for number in 0..<6 { try enroll("edge-\(number)") }
    try Together.run(9) { number in
      do {
        switch number {
        case 6: _ = try RotationDesk(home).rotate(.controller, at: now) { _ in }
        case 7: _ = try RotationDesk(home).rotateRoot(overlap: IssuerDesk.day, at: now)
        case 8:
          var desk = try IssuerDesk(home)
          try desk.renew(at: now, life: 5 * IssuerDesk.day)
        default:
          var desk = try IssuerDesk(home)
          _ = try desk.revoke("edge-\(number)", at: now)
        }
      } catch { Issue.record(error) }
    }
    let desk = try IssuerDesk(home)
    #expect(Set(desk.state.revokedKeys.map(\.name)) == Set((0..<6).map { "edge-\($0)" }))
    #expect(desk.state.version == 10)
    #expect(desk.state.life == 5 * IssuerDesk.day)
    #expect(desk.state.rotations.count == 1)
    #expect(desk.state.authorized.count == 3)
    let current = try #require(try desk.store(at: now).current)
    #expect(current.version == 10 && current.revokedList?.version == 10)
  }

  @Test func `a desk opened before others changed the folder changes what it holds now`() throws {
    try enroll("edge-1")
    try enroll("edge-2")
    var (early, other) = (try IssuerDesk(home), try IssuerDesk(home))
    _ = try other.revoke("edge-1", at: now)
    _ = try early.revoke("edge-2", at: now)
    #expect(Set(early.state.revokedKeys.map(\.name)) == ["edge-1", "edge-2"])
    #expect(early.state.version == 3)
  }

  @Test func `the online issuer signs nothing where another process has just signed`() throws {
    let (home, later) = (home, now + 80 * IssuerDesk.day)
    try Together.run(4) { _ in
      do { _ = try RenewalDesk(home).keepTrust(at: later) } catch { Issue.record(error) }
    }
    #expect(try IssuerDesk(home).state.version == 2)
  }
}

/// Policies as the broker gets them.
@Suite(.enabled(if: Broker.isInstalled)) struct PolicyDeskTests {
  @Test func `each policy stands above the one that is published`() throws {
    let site = try LiveSite()
    let now = Clock.wall
    let desk = PolicyDesk(site.home, usesRoot: false)
    let all = Audience.site(site.home.site)
    func version(_ topic: String) throws -> Int64? {
      let parts = try #require(try site.retained(topic)).split(separator: ".")
      return try JSONParser.parse(try #require(Base64URL.decode(parts[1])))["ver"]?.integer
    }
    try desk.publish(.stolen, for: all, at: now, life: nil)
    #expect(try version("policy") == now)
    // In the same second, and by a clock that is behind.
    try desk.publish(.hardened, for: all, at: now, life: nil)
    #expect(try version("policy") == now + 1)
    try desk.publish(.stolen, for: all, at: now - 30, life: nil)
    #expect(try version("policy") == now + 2)
    let root = PolicyDesk(site.home, usesRoot: true)
    try root.publish(.entry, for: all, at: now, life: nil)
    #expect(try version("policy") == now + 3)
    // A group's are counted by themselves.
    try desk.publish(.stolen, for: .group(site: site.home.site, Name("lathe")!), at: now, life: nil)
    #expect(try version("g/lathe/policy") == now)
  }

  @Test func `a policy that nobody signed who may does not lift the version`() throws {
    let site = try LiveSite()
    let now = Clock.wall
    let all = Audience.site(site.home.site)
    let claims = PolicyClaims(
      issuer: Identity.party(.policy, in: site.home.site), audience: all, version: now + 1_000_000, issuedAt: now,
      policy: .stolen)
    let forged = try TokenEncoder.encode(.policy, claims.claims, with: FileKey.generate())
    let link = try OperatorLink(site.home, as: .policy, subscribe: [])
    try link.waitOnline()
    try link.publish(Publication(try #require(all.policyTopic).text, text: forged, retain: true))
    link.close()
    let desk = PolicyDesk(site.home, usesRoot: false)
    try desk.publish(.stolen, for: all, at: now, life: nil)
    let parts = try #require(try site.retained("policy")).split(separator: ".")
    let published = try JSONParser.parse(try #require(Base64URL.decode(parts[1])))
    #expect(published["ver"]?.integer == now)
  }
}
