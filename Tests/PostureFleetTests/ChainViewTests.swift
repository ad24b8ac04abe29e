import Posture
import PostureFleet
import PosturePlatform
import PostureTokens
import TestKit
import Testing

/// What a person is told of a device's chain of events.
struct ChainViewTests {
  private let site: TestSite
  private let key: FileKey
  private let start: EventClaims
  private let first: EventClaims
  private let second: EventClaims

  init() throws {
    site = try TestSite(now: Clock.wall)
    key = try FileKey.generate()
    start = Self.event(site, 1, after: nil, .start(.enrolled))
    first = Self.event(site, 2, after: start, .change(Self.change(to: .fail)))
    second = Self.event(site, 3, after: first, .change(Self.change(to: .pass)))
  }

  private static func event(
    _ site: TestSite, _ number: Int64, after: EventClaims?, _ body: EventClaims.Body
  ) -> EventClaims {
    EventClaims(
      issuer: site.party("edge-1"), issuedAt: site.now, clock: .synced, chain: "chain-0001", number: number,
      previous: after.map { SHA256.text(of: $0.claims.bytes) }, body: body)
  }

  private static func change(to verdict: Verdict) -> EventClaims.Change {
    EventClaims.Change(from: nil, to: verdict, policy: "entry", report: 1, appeared: [], resolved: [])
  }

  /// The line about events once a report has named the second event as the last and `events` have come.
  private func line(_ events: [EventClaims]) throws -> String {
    try #require(lines(events).first { $0.hasPrefix("events") })
  }

  private func lines(_ events: [EventClaims], open: [OpenBreach] = []) throws -> [String] {
    var fleet = Fleet(trust: try TrustStore(site: site.name, root: site.root.jwk))
    let name = Name("edge-1")!
    fleet.recall([name: open], at: site.now)
    func take(_ place: Topic.Place, _ token: String, retained: Bool = false) {
      _ = fleet.receive(
        Array(token.utf8), on: Topic(site.name, place).text, isRetained: retained, at: site.now)
    }
    take(.trust, try site.trust(), retained: true)
    take(.keys(name), try site.credential("edge-1", key.publicKey), retained: true)
    for event in events { take(.event(name), try TokenEncoder.encode(.event, event.claims, with: key)) }
    let report = ReportClaims(
      issuer: site.party("edge-1"), ueid: "AX88mhviXUQIpsHQ6Ut3E_I", issuedAt: site.now, expires: site.now + 3_900,
      nonces: [], bootSeed: "ABEiM0RVZneImaq7", uptime: 100, sequence: 1, clock: .synced, cause: .schedule,
      keyProtection: .file,
      chain: .init(chain: "chain-0001", number: 3, digest: SHA256.text(of: second.claims.bytes)),
      policyDigest: Policy.entry.digest, evidence: Judge.evidence(of: .healthy, under: .entry))
    take(.report(name), try TokenEncoder.encode(.report, report.claims, with: key))
    return try #require(DeviceDetail(name, in: fleet, at: site.now)).lines(width: 100)
  }

  @Test func `what the history holds of the chain is told, and why the device is in doubt`() throws {
    let breach = OpenBreach(.chainBroken, chain: "chain-0001", text: "events missing: 1-1")
    let told = try lines([start, first, second], open: [breach])
    #expect(told.contains("events    events missing: 1-1"))
    #expect(told.contains { $0.hasPrefix("why       events missing: 1-1; last verdict pass") })
  }

  @Test func `a withheld tail, a hole, a fork and a declared gap are named`() throws {
    #expect(try line([start, first, second]).contains("complete"))
    #expect(try line([start]).contains("missing 2 to 3"))
    #expect(try line([start, second]).contains("missing 2 to 2"))
    let other = Self.event(site, 2, after: start, .change(Self.change(to: .unknown)))
    #expect(try line([start, first, other, second]).contains("contradict"))
    let gap = Self.event(
      site, 3, after: start, .gap(first: 2, head: SHA256.text(of: second.claims.bytes)))
    #expect(try line([start, gap]).contains("2 events declared lost"))
  }
}
