import Posture
import Testing

/// What a report carries of the evidence: equal rows once, below the limit, what is left out counted.
@Suite struct EvidenceClaimTests {
  private func evidence(users: Int, doors: (Int) -> [Door]) -> Evidence {
    var facts = ProbeResult()
    for number in 0..<users {
      facts.subjects.append(
        Subject(name: "user\(number)", uid: UInt32(1_000 + number), kind: .owner, account: .active, password: .set))
      facts.doors += doors(number)
    }
    return Judge.evidence(of: facts, under: .entry)
  }

  @Test func `rows that differ in their subject alone are one`() throws {
    let evidence = evidence(users: 500) { number in
      [
        Door(
          "login@console", .entry, "user\(number)", Opening([.passcode]),
          because: [Reason("pam.unix", file: "/etc/pam.d/login", line: 3)])
      ]
    }
    let json = EvidenceClaim.json(of: evidence)
    #expect(json["doors"]?.array?.count == 1)
    #expect(json["doors"]?.array?.first?["subjects"]?.strings?.count == 500)
    #expect(json["subjects"]?.array?.count == 1)
    #expect(json["subjects"]?.array?.first?["uids"]?.array?.first == 1_000)
    #expect(json["leftOut"] == nil)
    #expect(json.bytes.count < EvidenceClaim.limit)
  }

  @Test(arguments: [100, 1_000, 5_000]) func `never above the limit, and what is lost is counted`(_ users: Int) throws {
    let evidence = evidence(users: users) { number in
      let opening: Opening = number % 7 == 0 ? .always : .passcode
      return ["tty1", "tty2", "tty3", "tty4"].map { tty -> Door in
        let reason = Reason("pam.unix", file: "/etc/pam.d/service-\(number)", line: 1)
        return Door("login@\(tty)", .entry, "user\(number)", opening, because: [reason])
      }
    }
    let json = EvidenceClaim.json(of: evidence)
    #expect(json.bytes.count < EvidenceClaim.limit)
    let kept = rows(json, "doors", "subjects")
    let lost = count(json["leftOut"]?["doors"])
    #expect(kept + lost == users * 4)
    let subjects = rows(json, "subjects", "names") + count(json["leftOut"]?["subjects"])
    #expect(subjects == users)
    let findings = (json["findings"]?.array?.count ?? 0) + count(json["leftOut"]?["findings"])
    #expect(findings == evidence.findings.count)
    // The verdict and the ten results are never left out, and name only findings that are there.
    #expect(json["verdict"]?.string == evidence.verdict.rawValue)
    #expect(json["checks"]?.array?.count == CheckName.allCases.count)
    let ids = Set(json["findings"]?.array?.compactMap { $0["id"]?.string } ?? [])
    let named = json["checks"]?.array?.flatMap { $0["findings"]?.strings ?? [] } ?? []
    #expect(ids.isSuperset(of: named))
  }

  private func count(_ json: JSON?) -> Int { Int(json?.integer ?? 0) }

  private func rows(_ json: JSON, _ list: String, _ many: String) -> Int {
    (json[list]?.array ?? []).reduce(0) { $0 + ($1[many]?.array?.count ?? 1) }
  }
}
