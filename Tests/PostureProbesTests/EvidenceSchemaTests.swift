import Posture
import PostureProbes
import TestKit
import Testing

/// Everything that `check --json` and a report can say of the situations is as the schemas say.
struct EvidenceSchemaTests {
  @Test func `the evidence of every situation, and of this machine, is valid`() throws {
    var documents = [(schema: "evidence", json: try evidence("/", .hardened).json)]
    for situation in Case.all {
      try situation.staged { root in
        documents.append(("evidence", try evidence(root, situation.policy).json))
      }
    }
    #expect(try Schema.faults(documents) == "")
  }

  @Test func `the evidence as reports carry it is valid, whole and shortened`() throws {
    var documents: [(schema: String, json: JSON)] = []
    for situation in Case.all.prefix(20) {
      try situation.staged { root in
        let evidence = try evidence(root, situation.policy)
        for limit in [EvidenceClaim.limit, 3_000] { documents.append(("report", report(evidence, limit))) }
      }
    }
    #expect(try Schema.faults(documents) == "")
  }

  private func evidence(_ root: String, _ policy: Policy) throws -> Evidence {
    let system = try System(root: root)
    var facts = AuthPolicyProbe().run(on: system)
    facts.add(KeyringProbe().run(on: system))
    return Judge.evidence(of: facts, under: policy)
  }

  private func report(_ evidence: Evidence, _ limit: Int) -> JSON {
    let digest = String(repeating: "A", count: 43)
    var claims = ReportClaims(
      issuer: Party(urn: "urn:posture:site-a:edge-1")!, ueid: "AX88mhviXUQIpsHQ6Ut3E_I", issuedAt: 1_790_000_000,
      expires: nil, nonces: ["kq3rT0v1zB8w5mXh2uPz1A"], bootSeed: "ABEiM0RVZneImaq7zN3u_w", uptime: 1, sequence: 1,
      clock: .unsynced, cause: .recheck, keyProtection: .file,
      chain: .init(chain: "abcdefgh", number: 0, digest: nil), policyDigest: digest, evidence: evidence)
    claims.evidence = EvidenceClaim.json(of: evidence, limit: limit)
    return claims.claims
  }
}
