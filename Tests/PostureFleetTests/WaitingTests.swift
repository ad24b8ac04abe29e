import Posture
import PosturePlatform
import PostureTokens
import TestKit
import Testing

@testable import PostureFleet

/// What a monitor makes of messages whose key it does not know yet.
@Suite struct WaitingTests {
  private let site: TestSite
  private let name = Name("edge-1")!
  private let key: FileKey
  private let next: FileKey
  private var fleet: Fleet

  init() throws {
    site = try TestSite(now: Clock.wall)
    key = try FileKey.generate()
    next = try FileKey.generate()
    fleet = Fleet(trust: try TrustStore(site: site.name, root: site.root.jwk))
    take(.trust, try site.trust(), isRetained: true)
  }

  private mutating func take(_ place: Topic.Place, _ token: String, isRetained: Bool = false) {
    _ = fleet.receive(Array(token.utf8), on: Topic(site.name, place), isRetained: isRetained, at: site.now)
  }

  private func report(_ sequence: Int64, by key: FileKey, clock: ClockState = .synced) throws -> String {
    let claims = ReportClaims(
      issuer: site.party("edge-1"), ueid: "AX88mhviXUQIpsHQ6Ut3E_I", issuedAt: site.now,
      expires: clock == .synced ? site.now + 3_900 : nil, nonces: [], bootSeed: "ABEiM0RVZneImaq7", uptime: 100,
      sequence: sequence, clock: clock, cause: .schedule, keyProtection: .file,
      chain: .init(chain: "chain-0001", number: 0, digest: nil), policyDigest: Policy.entry.digest,
      evidence: Judge.evidence(of: .healthy, under: .entry))
    return try TokenEncoder.encode(.report, claims.claims, with: key)
  }

  private var conditions: [Condition]? { fleet.status(of: name, at: site.now)?.conditions }

  @Test mutating func `a report that the broker kept is no live one for its credential's coming late`() throws {
    take(.report(name), try report(1, by: key, clock: .unsynced), isRetained: true)
    #expect(conditions?.contains(.awaitingKey) == true)
    take(.keys(name), try site.credential("edge-1", key.publicKey))
    #expect(conditions == [.ageUnproven])
    take(.report(name), try report(2, by: key, clock: .unsynced))
    #expect(conditions == [])
  }

  @Test mutating func `waiting for a key ends where something verified comes in its place`() throws {
    take(.report(name), try report(1, by: key), isRetained: true)
    take(.keys(name), try site.credential("edge-1", next.publicKey), isRetained: true)
    #expect(conditions?.contains(.awaitingKey) == true)
    take(.report(name), try report(1, by: next))
    #expect(conditions == [])
  }

  @Test mutating func `waiting ends where the report that is known is back on its topic`() throws {
    let known = try report(1, by: key)
    take(.keys(name), try site.credential("edge-1", key.publicKey), isRetained: true)
    take(.report(name), known)
    take(.report(name), try report(2, by: next), isRetained: true)
    #expect(conditions == [.awaitingKey])
    // What else came of the device says nothing of that topic.
    take(.reply(name), known)
    #expect(conditions == [.awaitingKey])
    take(.report(name), known, isRetained: true)
    #expect(conditions == [])
  }

  @Test mutating func `invented keys of one device keep no other from being heard`() throws {
    let other = Name("edge-2")!
    for _ in 0..<9_000 {
      // A token of the right shape under a key that nobody has.
      let kid = SHA256.text(of: Random.bytes(8))
      let header = Base64URL.encode(Array(#"{"alg":"ES256","typ":"posture-refusal+jwt","kid":"\#(kid)"}"#.utf8))
      let signature = Base64URL.encode([UInt8](repeating: 1, count: 64))
      take(.reply(other), "\(header).e30.\(signature)")
    }
    #expect(fleet.verifier.waitingCount.held <= 64)
    #expect(fleet.counters.dropped >= 9_000 - 64)
    take(.report(name), try report(1, by: key), isRetained: true)
    take(.keys(name), try site.credential("edge-1", key.publicKey), isRetained: true)
    #expect(conditions == [])
  }
}
