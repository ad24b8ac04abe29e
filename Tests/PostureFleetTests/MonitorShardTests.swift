import Posture
import PosturePlatform
import PostureTokens
import TestKit
import Testing

@testable import PostureFleet

/// What a share of the fleet learns of the history.
@Suite struct MonitorShardTests {
  @Test func `a device that comes late has its time from the history, too`() throws {
    let folder = try Folder()
    let site = try TestSite(now: Clock.wall)
    let names = ["edge-1", "edge-2"].map { Name($0)! }
    let history = try SQLiteHistory(path: folder.file("history.db"))
    for name in names {
      let past: [(Int64, Verdict)] = [(9_000, .pass), (8_000, .unknown), (5_000, .pass), (1_000, .pass)]
      _ = try history.insert(
        past.enumerated().map { number, entry in
          HistoryRecord(
            device: name, kid: "of \(name)", kind: .report, seq: Int64(number) + 1, digest: "d\(number)",
            issued: site.now - entry.0, received: site.now - entry.0, verdict: entry.1, token: Array("a.b.c".utf8))
        })
    }
    let ledger = try HistoryLedger(history)
    let shard = try MonitorShard(Fleet(trust: try site.store()), noted: [:], ledger, EventHub())
    let thread = try Thread.start("shard") { shard.run() }
    for name in names {
      let key = try FileKey.generate()
      let report = try report(of: name, site, key)
      shard.put(.init(topic: Topic(site.name, .report(name)), payload: report, isRetained: true))
      // It has not reported as long as nobody knows the key.
      #expect(eventually { shard.read { $0.devices[name] } != nil })
      shard.remember(at: site.now)
      let credential = Array(try site.credential(name.description, key.publicKey).utf8)
      shard.put(.init(topic: Topic(site.name, .keys(name)), payload: credential, isRetained: true))
      #expect(eventually { shard.read { $0.devices[name]?.report } != nil })
      shard.remember(at: site.now)
      #expect(shard.read { $0.devices[name]?.verdictStart?.known } == site.now - 5_000, "\(name)")
    }
    shard.stop()
    thread.join()
  }

  private func report(of name: Name, _ site: TestSite, _ key: FileKey) throws -> [UInt8] {
    let claims = ReportClaims(
      issuer: site.party(name.description), ueid: "AX88mhviXUQIpsHQ6Ut3E_I", issuedAt: site.now,
      expires: site.now + 3_900, nonces: [], bootSeed: "ABEiM0RVZneImaq7", uptime: 100, sequence: 9, clock: .synced,
      cause: .schedule, keyProtection: .file, chain: .init(chain: "chain-0001", number: 0, digest: nil),
      policyDigest: Policy.entry.digest, evidence: Judge.evidence(of: .healthy, under: .entry))
    return Array(try TokenEncoder.encode(.report, claims.claims, with: key).utf8)
  }
}
