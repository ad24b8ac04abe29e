import Glibc
import Posture
import PostureTokens
import TestKit
import Testing

/// Root, issuer, credential, trust, command and report, once through with nothing wrong.
@Suite struct MainPathTests {
  let site: TestSite
  let device = Name("edge-0042")!
  let key: FileKey

  init() throws {
    site = try TestSite()
    key = try FileKey.generate()
  }

  func report(_ sequence: Int64 = 1) -> ReportClaims {
    ReportClaims(
      issuer: site.party("edge-0042"), ueid: "AX88mhviXUQIpsHQ6Ut3E_I", issuedAt: site.now, expires: site.now + 3_900,
      nonces: ["nonce-00000001"], bootSeed: "ABEiM0RVZneImaq7zN3u_w", uptime: 86_423, sequence: sequence,
      clock: .synced, cause: .recheck, keyProtection: .file,
      chain: .init(chain: "chain-0001", number: 0, digest: nil), policyDigest: Policy.entry.digest,
      evidence: Judge.evidence(of: ProbeResult(), under: .entry))
  }

  @Test func `a report goes from the device to the monitor`() throws {
    var monitor = MonitorVerifier(trust: try site.store())
    let keys = try site.credential("edge-0042", key.publicKey)
    let token = try TokenEncoder.encode(.report, report().claims, with: key)
    _ = monitor.receive(Array(keys.utf8), on: Topic(site.name, .keys(device)).text, at: Moment(site.now))
    let outcomes = monitor.receive(
      Array(token.utf8), on: Topic(site.name, .report(device)).text, at: Moment(site.now))
    guard case .message(let message)? = outcomes.first, case .report(let seen) = message.content else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(seen == report())
    #expect(message.kid == key.publicKey.kid)
    #expect(monitor.standing(of: message.kid, at: Moment(site.now)) == .good)
  }

  @Test func `a command goes from the controller to the device`() throws {
    let verifier = DeviceVerifier(
      device: site.party("edge-0042"), groups: [], trust: try site.store())
    let audience = Audience.device(site.party("edge-0042"))
    let command = try verifier.command(
      Array(site.recheck(audience).utf8), on: audience.recheckTopic, at: Moment(site.now))
    #expect(command.claims.nonce == "nonce-00000001")
    #expect(command.kid == site.controller.publicKey.kid)
    #expect(!command.isTrustExpired)
  }

  @Test func `a key is the same after its file`() throws {
    let path = "/tmp/tokens-test-\(Int.random(in: 0..<Int.max)).pem"
    defer { unlink(path) }
    try key.save(path)
    let loaded = try FileKey.load(path)
    #expect(loaded.publicKey == key.publicKey)
    #expect(try key.publicKey.verifies(loaded.sign([1, 2, 3]), of: [1, 2, 3]))
    chmod(path, 0o640)
    #expect { try FileKey.load(path) } throws: { ($0 as? KeyError)?.code == .file }
  }
}
