import Glibc
import Posture
import PostureMQTT
import PosturePlatform
import PostureTokens
import TestKit
import Testing

@testable import PostureFleet

/// Renewal and rotation with everything real: broker, agent, and the tools as they are run.
@Suite(.serialized, .enabled(if: Broker.isInstalled)) struct RenewalTests {
  private func issuer(_ site: LiveSite) throws -> RunningProcess {
    try RunningProcess(
      Path.join(Repository.products, "posturectl"), ["issuer", "--home", site.home.folder],
      log: site.folder.file("issuer.log"))
  }

  private func answers(_ site: LiveSite, _ agent: RealAgent) throws -> Bool {
    let output = try site.posturectl("recheck", "--device", agent.name.description, "--wait", "--timeout", "20")
    return output.status <= 2
  }

  private func show(_ site: LiveSite, _ agent: RealAgent) throws -> JSON {
    try JSONParser.parse(site.posturectl("show", agent.name.description, "--json").out, limits: .foreign)
  }

  @Test(.timeLimit(.minutes(3))) func `credential and certificate are renewed before they end, with no hands`() throws {
    let site = try LiveSite()
    // Less than a third of its life is left.
    let life: Int64 = Long.isWanted ? 90 : 600
    let agent = try RealAgent(site, "edge-1", life: life, at: Clock.wall - life * 4 / 5)
    let end = try agent.credential(of: "courier").grant.expires
    try agent.start()
    #expect(eventually { agent.status?["courier"]?["connected"] == true }, "\(agent.log)")
    // The request waits at the broker for an issuer.
    let issuer = try issuer(site)
    defer { issuer.stop() }
    let isRenewed = eventually {
      try agent.credential(of: "attester").grant.expires > end + life / 2
        && agent.credential(of: "courier").grant.expires > end + life / 2
    }
    #expect(isRenewed, "\(agent.log)")
    #expect(try agent.certificate().notAfter == agent.credential(of: "courier").grant.expires)
    #expect(eventually { agent.counter("connects") == 2 && agent.counter("renewals") == 1 }, "\(agent.log)")
    #expect(agent.status?["enrolledUntil"]?.integer == (try agent.credential(of: "attester").grant.expires))
    // Everybody else hears of it, and it is asked for once.
    #expect(eventually { try show(site, agent)["enrolledUntil"]?.integer ?? 0 > end })
    #expect(try answers(site, agent))
    agent.stop()
    try agent.start()
    #expect(eventually { agent.status?["courier"]?["connected"] == true }, "\(agent.log)")
    #expect(try answers(site, agent))
    #expect(agent.counter("renewals") == 0 && agent.counter("connects") == 1, "\(agent.log)")
    guard Long.isWanted else { return }
    while Clock.wall <= end + 2 { usleep(200_000) }
    agent.stop()
    try agent.start()
    #expect(eventually { agent.status?["courier"]?["connected"] == true }, "\(agent.log)")
    #expect(try answers(site, agent), "\(agent.log)")
  }

  @Test(.timeLimit(.minutes(3))) func `an answer that is not the issuer's is not installed`() throws {
    let site = try LiveSite()
    let agent = try RealAgent(site, "edge-1", life: 600, at: Clock.wall - 500)
    let before = try agent.credential(of: "courier")
    try agent.start()
    #expect(eventually { agent.status?["courier"]?["connected"] == true }, "\(agent.log)")
    // The issuer's account at the broker is taken over, its key is not.
    let link = try OperatorLink(site.home, as: .issuer, subscribe: [])
    try link.waitOnline()
    let other = try LiveSite()
    let forged = try RealAgent(other, "edge-1")
    let answer = try RenewalDesk(other.home).answer(
      Array(AtomicFile.readAny(forged.folder.file("request")).filter { $0 != 0x0A }),
      on: Topic(other.home.site, .request(agent.name)).text, at: Clock.wall)
    for payload in [answer.publication.payload, Array("nonsense".utf8), Array("a.b.c".utf8)] {
      var publication = answer.publication
      publication.payload = payload
      try link.publish(publication)
    }
    link.close()
    #expect(eventually { agent.counter("refusedDocuments") >= 3 }, "\(agent.log)")
    #expect(try agent.credential(of: "courier") == before && agent.credential(of: "attester") == before)
    #expect(try answers(site, agent))
  }

  @Test(.enabled(if: Long.isWanted, "POSTURE_LONG"), .timeLimit(.minutes(5)))
  func `every key of a site is changed while its device is asked all the time`() throws {
    let site = try LiveSite()
    let agent = try RealAgent(site, "edge-1", life: 90, recheckInterval: 0)
    // A monitor that pinned the first root and keeps its folder as it was.
    let pinned = site.folder.file("pinned")
    _ = try Command("/bin/cp", ["-a", site.home.folder, pinned]).run()
    try agent.start()
    #expect(try answers(site, agent), "\(agent.log)")
    let issuer = try issuer(site)
    defer { issuer.stop() }
    for role in ["controller", "policy", "monitor", "issuer"] {
      let output = try site.posturectl("rotate", role)
      #expect(output.status == 0, "\(role): \(String(decoding: output.err, as: UTF8.self))")
      #expect(try answers(site, agent), "\(role): \(agent.log)")
    }
    let newIssuer = try Identity(.issuer, in: site.home).key.publicKey.kid
    let isUnderIt = eventually(60_000) {
      guard let text = try agent.credential(of: "attester").issuerCredential else { return false }
      return try CredentialClaims(claims: RealAgent.claims(of: text)).grant.key
        == Identity(.issuer, in: site.home).key.publicKey.jwk
    }
    #expect(isUnderIt, "\(newIssuer): \(agent.log)")
    #expect(try site.posturectl("rotate", "root").status == 0)
    #expect(try answers(site, agent), "root: \(agent.log)")
    var monitor = Command(
      Path.join(Repository.products, "posturectl"), ["show", "edge-1", "--json", "--home", pinned])
    monitor.timeout = 30_000
    let seen = try JSONParser.parse(monitor.run().out, limits: .foreign)
    #expect(["pass", "fail", "unknown"].contains(seen["state"]?.string), "\(seen.text.prefix(300))")
  }
}
