import Posture
import PosturePlatform
import PostureProbes
import PostureTokens
import TestKit
import Testing

@testable import PostureFleet

/// Of what a device signed, page, API and terminal get what is of the known shape, and are told of the rest.
@Suite struct EvidenceShapeTests {
  private static func evidence(_ situation: Case) throws -> Evidence {
    try situation.staged { root in
      let system = try System(root: root)
      var facts = AuthPolicyProbe().run(on: system)
      facts.add(KeyringProbe().run(on: system))
      return Judge.evidence(of: facts, under: situation.policy)
    }
  }

  @Test func `what an agent says of every situation is of the shape`() throws {
    for situation in Case.all {
      let evidence = try Self.evidence(situation)
      for json in [evidence.json, EvidenceClaim.json(of: evidence), EvidenceClaim.json(of: evidence, limit: 3_000)] {
        let shape = EvidenceShape(json)
        #expect(shape.known == json && shape.unknown == [], "\(situation) \(shape.unknown)")
      }
    }
  }

  /// Every value in turn, replaced by one of another type: what is left is as the schema says, and the place is named.
  @Test func `what is of another shape is left out and named`() throws {
    let evidence = try Self.evidence(Case.all[0]).json
    var left: [(schema: String, json: JSON)] = []
    for foreign: JSON in [["mood": "good"], .integer(-1), "perhaps", [["gait"]]] {
      for changed in evidence.variants(foreign) where changed != evidence {
        let shape = EvidenceShape(changed)
        if shape.known == changed { continue }
        #expect(!shape.unknown.isEmpty)
        #expect(EvidenceShape(shape.known).known == shape.known)
        if Self.isWhole(shape.known) { left.append(("evidence", shape.known)) }
      }
    }
    #expect(left.count > 100)
    #expect(try Schema.faults(left) == "")
  }

  /// Nothing is gone that the schema asks for once.
  private static func isWhole(_ evidence: JSON) -> Bool {
    evidence["checks"]?.array?.count == CheckName.allCases.count
      && ["schema", "policy", "verdict", "subjects", "doors", "passwordPolicy", "findings"]
        .allSatisfy { evidence[$0] != nil }
  }

  @Test func `a place is named, however many there are`() {
    let shape = EvidenceShape([
      "doors": [["door": "a", "subject": "b", "answer": "required", "opensWith": [["gait"]]], 7], "mood": "good",
      "findings": .array(Array(repeating: [], count: 1_000)), "checks": [], "passwordPolicy": .null,
    ])
    #expect(shape.known == ["doors": [], "findings": [], "checks": []])
    #expect(shape.unknown.prefix(4) == ["doors/0", "doors/1", "mood", "findings/0"])
    #expect(shape.unknown.suffix(4) == ["policy", "schema", "subjects", "verdict"])
    #expect(shape.remark?.utf8.count ?? 0 < 200)
    #expect(EvidenceShape("text").known == .object([]))
    #expect(EvidenceShape("text").remark != nil)
    #expect(EvidenceShape([String(repeating: "x", count: 9_000): 1]).remark?.utf8.count ?? 0 < 200)
  }

  @Test func `terminal and API are told`() throws {
    let site = try TestSite(now: Clock.wall)
    let key = try FileKey.generate()
    let name = Name("edge-1")!
    var evidence = Judge.evidence(of: .healthy, under: .entry).json
    evidence = .object(
      (evidence.members ?? []).map { member in
        member.name == "doors" ? JSON.Member("doors", [["door": "wicket", "opensWith": "x\u{1B}[2J"]]) : member
      })
    var claims = ReportClaims(
      issuer: site.party("edge-1"), ueid: "AX88mhviXUQIpsHQ6Ut3E_I", issuedAt: site.now, expires: site.now + 3_900,
      nonces: [], bootSeed: "ABEiM0RVZneImaq7", uptime: 100, sequence: 1, clock: .synced, cause: .schedule,
      keyProtection: .file, chain: .init(chain: "chain-0001", number: 0, digest: nil),
      policyDigest: Policy.entry.digest, evidence: Judge.evidence(of: .healthy, under: .entry))
    claims.evidence = evidence
    var fleet = Fleet(trust: try TrustStore(site: site.name, root: site.root.jwk))
    for (place, token) in [
      (Topic.Place.trust, try site.trust()), (.keys(name), try site.credential("edge-1", key.publicKey)),
      (.report(name), try TokenEncoder.encode(.report, claims.claims, with: key)),
    ] {
      _ = fleet.receive(Array(token.utf8), on: Topic(site.name, place), isRetained: true, at: site.now)
    }
    let detail = try #require(DeviceDetail(name, in: fleet, at: site.now))
    #expect(detail.lines(width: 100).contains("not of the known shape, and not shown: doors/0"))
    #expect(detail.json["unshown"]?.string?.contains("doors/0") == true)
    #expect(detail.json["report"]?["evidence"]?["doors"] == [])
    #expect(!detail.json.text.contains("wicket"))
    #expect(detail.json["report"]?["verdict"] == "pass")
  }
}

extension JSON {
  /// With each value inside in turn replaced.
  fileprivate func variants(_ other: JSON) -> [JSON] {
    switch self {
    case .array(let items):
      items.indices.flatMap { at in
        ([other] + items[at].variants(other)).map { changed in
          var items = items
          items[at] = changed
          return .array(items)
        }
      }
    case .object(let members):
      members.indices.flatMap { at in
        ([other] + members[at].value.variants(other)).map { changed in
          var members = members
          members[at].value = changed
          return .object(members)
        }
      }
    default: []
    }
  }
}
