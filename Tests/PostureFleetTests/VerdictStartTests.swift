import Posture
import PostureTokens
import Testing

@testable import PostureFleet

/// Since when a verdict is what it is: never more than is known.
@Suite struct VerdictStartTests {
  private func report(_ seq: Int64, _ verdict: Verdict, at issued: Int64, kid: String = "k") -> Observation {
    .report(
      ReportFacts(
        kid: kid, keyIssued: kid == "k" ? 1 : 2, seq: seq, digest: "d\(kid)\(seq)", issued: issued, expires: 10_000,
        verdict: verdict, policy: "entry"), isRetained: false, isProven: false)
  }

  private func event(_ eseq: Int64, _ verdict: Verdict, at issued: Int64) -> Observation {
    .event(
      EventFacts(
        kid: "k", chain: "A", link: EventLink(eseq: eseq, digest: "e\(eseq)", prev: "e\(eseq - 1)"), issued: issued,
        verdict: verdict))
  }

  private func row(_ observations: [Observation]) -> DeviceRow {
    var device = DeviceState(Name("edge-1")!, at: 0)
    for observation in observations { device.observe(observation, at: 1_000) }
    return DeviceRow(device, DeviceStatus(device, at: 1_000, key: .good))
  }

  private func since(_ observations: [Observation]) -> String? { row(observations).span(at: 1_000) }

  @Test func `a first report says only that it is so already`() {
    #expect(since([report(1, .fail, at: 950)]) == "≥50s")
    #expect(since([report(1, .fail, at: 950), report(9, .fail, at: 990)]) == "≥50s")
    #expect(since([]) == nil)
    let row = row([report(1, .fail, at: 950)])
    #expect(row.json["since"] == .null && row.json["knownSince"] == 950)
    #expect(FleetTable([row], at: 1_000).lines(width: 80)[1].contains("≥50s"))
  }

  @Test func `a change counts where nothing was reported between`() {
    #expect(since([report(1, .pass, at: 900), report(2, .fail, at: 950)]) == "50s")
    #expect(since([report(1, .pass, at: 900), report(3, .fail, at: 950)]) == "≥50s")
    #expect(since([report(1, .pass, at: 900), report(2, .fail, at: 950, kid: "l")]) == "≥50s")
    #expect(row([report(1, .pass, at: 900), report(2, .fail, at: 950)]).json["since"] == 950)
  }

  @Test func `an event tells of the change, an old one does not`() {
    let gap = [report(1, .pass, at: 900), report(9, .fail, at: 950)]
    #expect(since(gap + [event(4, .fail, at: 920)]) == "80s")
    #expect(since(gap + [event(4, .fail, at: 920), event(6, .fail, at: 940)]) == "60s")
    for other in [event(2, .fail, at: 890), event(4, .pass, at: 920), event(9, .fail, at: 960)] {
      #expect(since(gap + [other]) == "≥50s")
    }
    #expect(since([report(9, .fail, at: 950), event(4, .fail, at: 920)]) == "≥50s")
  }

  @Test func `the history knows more, but nothing against what was seen`() {
    func known(_ since: Int64, isSeen: Bool) -> Observation { .verdict(.fail, since: since, isSeen: isSeen) }
    let first = report(9, .fail, at: 950)
    #expect(since([first, known(910, isSeen: false)]) == "≥90s")
    #expect(since([first, known(910, isSeen: true)]) == "90s")
    #expect(since([first, known(950, isSeen: true)]) == "50s")
    #expect(since([first, .verdict(.pass, since: 910, isSeen: true)]) == "≥50s")
    #expect(since([report(7, .pass, at: 920), first, known(910, isSeen: true)]) == "≥50s")
    #expect(since([report(8, .pass, at: 920), first, known(910, isSeen: false)]) == "50s")
  }

  @Test func `latest change first: those of which none was seen come last`() {
    let seen = row([report(1, .pass, at: 10), report(2, .fail, at: 20)])
    var other = row([report(1, .fail, at: 950)])
    other.name = "a"
    var selection = RowSelection()
    selection.order = .since
    #expect(selection.apply(to: [other, seen]).map(\.name) == ["edge-1", "a"])
  }
}

/// Why a verdict is unknown.
@Suite struct UnansweredTests {
  private func facts(_ verdict: String, _ checks: [JSON], _ findings: [JSON] = []) -> [String] {
    EvidenceReading(["verdict": .string(verdict), "checks": .array(checks), "findings": .array(findings)]).unanswered(6)
  }

  private func check(_ name: String, _ result: String, required: Bool = true, _ findings: JSON...) -> JSON {
    ["check": .string(name), "result": .string(result), "required": .bool(required), "findings": .array(findings)]
  }

  @Test func `each required check without an answer is named with its reason`() {
    let unreadable: JSON = [
      "id": "f2", "code": "unreadable", "severity": "info", "subject": "ann", "observed": "password unreadable",
    ]
    let checks = [
      check("passcode", "not-run", "f2"), check("keyring", "absent"), check("disk", "not-run", required: false),
      check("later-check", "not-run"), check("elevation", "success"),
    ]
    #expect(
      facts("unknown", checks, [unreadable]) == [
        "passcode not-run: unreadable ann: password unreadable", "later-check not-run",
      ])
  }

  @Test func `where every check ran, what was not there is named`() {
    let reason: JSON = [
      "check": "biometrics", "result": "absent", "required": true, "findings": [], "reason": "biometryNotAvailable",
    ]
    #expect(facts("unknown", [check("passcode", "success"), reason]) == ["biometrics absent: biometryNotAvailable"])
  }

  @Test func `a device's row names it`() {
    var facts = ProbeResult.healthy
    facts.subjects[0].password = .unreadable
    let evidence = Judge.evidence(of: facts, under: .entry)
    #expect(evidence.verdict == .unknown)
    let claims = ReportClaims(
      issuer: Party(Name("site")!, Name("edge-1")!), ueid: "AX88mhviXUQIpsHQ6Ut3E_I", issuedAt: 100, expires: 4_000,
      nonces: [], bootSeed: "ABEiM0RVZneImaq7", uptime: 100, sequence: 1, clock: .synced, cause: .recheck,
      keyProtection: .file, chain: .init(chain: "chain-0001", number: 0, digest: nil),
      policyDigest: Policy.entry.digest, evidence: evidence)
    let report = ReportFacts(claims, kid: "k", keyIssued: 1, digest: "d")
    #expect(DeviceRow.why(report).hasPrefix("passcode not-run: unreadable alice: password unreadable"))
  }
}
