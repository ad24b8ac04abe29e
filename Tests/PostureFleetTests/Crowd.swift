import Posture
import PostureFleet
import PostureMQTT
import PosturePlatform
import PostureTokens
import TestKit

/// Thousands of devices with real keys and credentials, of which the broker keeps credential and report.
struct Crowd {
  /// Puts `count` devices on a broker with an open door: `edge-00001` and so on. Every tenth fails, every fiftieth is
  /// stale.
  static func publish(_ count: Int, to site: LiveSite) throws {
    let identity = try Identity(.issuer, in: site.home)
    let issuer = Issuer(party: identity.party, key: identity.key, credential: identity.credential)
    let inbox = try Inbox()
    let client = try Client(.init(.plain(host: "127.0.0.1", port: site.openPort!)), inbox: inbox)
    while let event = inbox.next(10_000) { if case .online = event { break } }
    var waiting = 0
    for number in 1...count {
      let (keys, report) = try messages(number, of: count, issuer, site.home.site)
      client.publish(keys)
      client.publish(report)
      waiting += 2
      while waiting > 200 { waiting -= completed(inbox) }
    }
    while waiting > 0 { waiting -= completed(inbox) }
    client.stop()
  }

  private static func completed(_ inbox: Inbox) -> Int {
    guard let event = inbox.next(10_000) else { return 1 }
    if case .completed = event { return 1 }
    return 0
  }

  private static func messages(
    _ number: Int, of count: Int, _ issuer: Issuer, _ site: Name
  ) throws -> (Publication, Publication) {
    let text = String(number)
    let name = Name("edge-" + String(repeating: "0", count: 5 - text.count) + text)!
    let party = Party(site, name)
    let key = try FileKey.generate()
    let now = Clock.wall
    let grant = Grant(
      subject: party, role: .device, groups: [Name(number.isMultiple(of: 2) ? "lathe" : "press")!],
      key: key.publicKey.jwk, notBefore: now - 1_000, expires: now + 1_000_000)
    let isStale = number.isMultiple(of: 50)
    let claims = ReportClaims(
      issuer: party, ueid: "AX88mhviXUQIpsHQ6Ut3E_I", issuedAt: isStale ? now - 4_000 : now - Int64(number % 3_000),
      expires: isStale ? now - 100 : now + 3_900, nonces: [], bootSeed: "ABEiM0RVZneImaq7", uptime: 100, sequence: 1,
      clock: .synced, cause: .schedule, keyProtection: .file, chain: .init(chain: "chain-0001", number: 0, digest: nil),
      policyDigest: Policy.entry.digest,
      evidence: Judge.evidence(of: number.isMultiple(of: 10) ? .open : .healthy, under: .entry))
    func retained(_ place: Topic.Place, _ token: String) -> Publication {
      Publication(Topic(site, place).text, text: token, retain: true)
    }
    return (
      retained(.keys(name), try issuer.credential(grant, at: now)),
      retained(.report(name), try TokenEncoder.encode(.report, claims.claims, with: key))
    )
  }
}
