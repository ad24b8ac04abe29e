import Posture
import PostureTerminal
import PostureTokens
import Testing

@testable import PostureFleet

private let name = Name("edge-1")!
private let start: Int64 = 1_790_000_000

private func report(
  _ seq: Int64, _ verdict: Verdict = .pass, kid: String = "k1", keyIssued: Int64 = 1, digest: String? = nil,
  at issued: Int64 = start, expires: Int64? = start + 3_900, machine: String? = nil, boot: String? = nil,
  head: ChainHead? = nil
) -> ReportFacts {
  ReportFacts(
    kid: kid, keyIssued: keyIssued, seq: seq, digest: digest ?? "d\(seq)", issued: issued, expires: expires,
    verdict: verdict, policy: "entry", machine: machine, boot: boot, head: head)
}

private func live(_ facts: ReportFacts) -> Observation { .report(facts, isRetained: false, isProven: false) }
private func kept(_ facts: ReportFacts) -> Observation { .report(facts, isRetained: true, isProven: false) }
private let enrolled = Observation.enrolled(kid: "k1", issued: 1, expires: start + 1_000_000, groups: ["lathe"])

private func presence(_ number: Int64, online: Bool, connection: String? = nil, kid: String = "k1") -> Observation {
  .presence(
    PresenceFacts(kid: kid, connection: connection ?? "c\(number)", number: number, isOnline: online))
}

private func event(
  _ eseq: Int64, prev: String? = nil, digest: String? = nil, chain: String = "A", gapFrom: Int64? = nil
)
  -> Observation
{
  // A gap speaks for the last event that it stands for.
  let content: EventLink.Content = gapFrom.map { .gap(first: $0) } ?? (eseq == 1 ? .start(reason: "new") : .change)
  let link = EventLink(
    eseq: eseq, digest: digest ?? "e\(eseq)", prev: eseq == 1 ? nil : prev ?? "e\(eseq - 1)", content: content)
  return .event(EventFacts(kid: "k1", chain: chain, link: link, issued: start, verdict: nil))
}

private func device(_ observations: [Observation], at now: Int64 = start + 10) -> DeviceState {
  var device = DeviceState(name, at: start)
  for observation in observations { device.observe(observation, at: now) }
  return device
}

private func conditions(
  _ observations: [Observation], at now: Int64 = start + 10, key: MonitorVerifier.Standing = .good
) -> [Condition] {
  DeviceStatus(device(observations), at: now, key: key).conditions
}

private func permutations<Element>(_ items: [Element]) -> [[Element]] {
  guard items.count > 1 else { return [items] }
  return items.indices.flatMap { index -> [[Element]] in
    var rest = items
    let first = rest.remove(at: index)
    return permutations(rest).map { [first] + $0 }
  }
}

@Suite struct FleetStateTests {
  @Test func `a verified fresh report is its verdict`() {
    for verdict in Verdict.allCases {
      let status = DeviceStatus(device([enrolled, live(report(1, verdict))]), at: start + 10, key: .good)
      #expect(status.standing == .verdict(verdict))
      #expect(status.age == 10)
    }
  }

  @Test func `every condition stands before a pass`() {
    let good = live(report(1))
    let untrusted = report(1, expires: nil)
    let cases: [(Condition, [Observation], Int64, MonitorVerifier.Standing)] = [
      (.revoked, [enrolled, good], start + 10, .revoked),
      (.equivocation, [enrolled, good, live(report(1, digest: "other"))], start + 10, .good),
      (.cloned, [enrolled, live(report(1, machine: "a")), live(report(2, machine: "b"))], start + 10, .good),
      (
        .cloned,
        [enrolled, good, presence(3, online: true, connection: "x"), presence(3, online: true, connection: "y")],
        start + 10, .good
      ),
      (.unverifiable, [enrolled, good, .rejected(code: "signature", onReport: true)], start + 10, .good),
      (.unverifiable, [enrolled, good], start + 10, .expired),
      (.unverifiable, [enrolled, good], start + 10, .notYetValid),
      (.awaitingKey, [enrolled, good], start + 10, .awaitingKey),
      (.trustStale, [enrolled, good], start + 10, .trustMissing),
      (.trustStale, [enrolled, good], start + 10, .revocationUnknown),
      (.awaitingKey, [enrolled, good, .waiting(true)], start + 10, .good),
      (.chainBroken, [enrolled, good, event(2), event(3, prev: "wrong")], start + 10, .good),
      (
        .chainBroken, [enrolled, event(1), live(report(1, head: ChainHead(chain: "A", eseq: 3, digest: "e3")))],
        start + 71,
        .good
      ),
      (.trustStale, [enrolled, good], start + 10, .trustStale),
      (.stale, [enrolled, good], start + 3_900, .good),
      (.silent, [enrolled], start + 10, .good),
      (.ageUnproven, [enrolled, kept(untrusted)], start + 10, .good),
    ]
    for (condition, observations, now, key) in cases {
      let status = DeviceStatus(device(observations), at: now, key: key)
      #expect(status.conditions.first == condition, "\(condition)")
      #expect(status.standing == .condition(condition))
      // Nowhere where people or programs look.
      let row = DeviceRow(device(observations), status)
      #expect(row.json["state"]?.string == condition.rawValue, "\(condition)")
      #expect(FleetLine.text(row, at: now).contains("edge-1 \(condition.rawValue)"), "\(condition)")
      let table = FleetTable([row], at: now).lines(width: 80)
      #expect(table[1].contains(condition.rawValue) && !table[1].contains("pass ("), "\(condition)")
    }
    #expect(Set(cases.map(\.0)) == Set(Condition.allCases))
  }

  @Test func `a copied disk is told by its starts and by its connections`() {
    func boots(_ names: [String]) -> [Observation] {
      names.enumerated().map { live(report(Int64($0) + 1, boot: $1)) }
    }
    #expect(conditions([enrolled] + boots(["a", "a", "b", "b", "c"])) == [])
    #expect(conditions([enrolled] + boots(["a", "b", "a"])) == [.cloned])
    // A report of before that comes again, or that the broker kept, is nobody's start.
    #expect(
      conditions([enrolled, live(report(1, boot: "a")), live(report(2, boot: "b")), live(report(1, boot: "a"))]) == [])
    #expect(
      conditions([enrolled, live(report(1, boot: "a")), live(report(3, boot: "b")), kept(report(2, boot: "a"))]) == [])
    func births(_ numbers: [Int64]) -> [Observation] { numbers.map { presence($0, online: true) } }
    let good = [enrolled, live(report(1))]
    #expect(conditions(good + births([1, 2, 3, 4, 5, 6])) == [])
    #expect(conditions(good + births([300, 520, 301, 521, 302, 522, 303])) == [.cloned])
    #expect(conditions(good + births([300, 520, 301])) == [])
    #expect(conditions(good + births([6, 5, 4, 3, 2, 1])) == [])
    let wills = (1...9).map { presence($0, online: false) }
    #expect(conditions(good + births([20]) + wills + births([21])) == [])
  }

  /// What was made before the newest one anybody can send again.
  @Test func `what comes again is no second machine`() {
    let day: Int64 = 86_400
    let old = live(report(1, at: start - day, boot: "a"))
    let newest = [enrolled, kept(report(9, boot: "b"))]
    #expect(conditions(newest + [old, live(report(10, boot: "b"))]) == [])
    #expect(
      conditions(
        [enrolled, old] + newest + [live(report(10, boot: "b")), live(report(2, at: start - 100, boot: "a"))]) == [])
    func birth(_ number: Int64, at issued: Int64) -> Observation {
      .presence(
        PresenceFacts(kid: "k1", connection: "c\(number)", number: number, isOnline: true, issued: issued))
    }
    let births = (1...3).map { birth($0, at: start - day) }
    #expect(conditions(newest + [live(report(10)), birth(20, at: start)] + births) == [])
    let doubled = (1...3).map { birth($0, at: start + $0) }
    #expect(conditions(newest + [live(report(10)), birth(20, at: start)] + doubled) == [.cloned])
  }

  @Test func `a message of the future hides no second machine`() {
    let ahead = start + 365 * 86_400
    let other = (3...6).map { live(report($0, at: start + $0, boot: $0 % 2 == 0 ? "a" : "b")) }
    for first in [kept(report(1, at: ahead, boot: "a")), live(report(1, at: ahead, boot: "a"))] {
      #expect(conditions([enrolled, first] + other) == [.cloned])
    }
    func birth(_ number: Int64, at issued: Int64) -> Observation {
      .presence(PresenceFacts(kid: "k1", connection: "c\(number)", number: number, isOnline: true, issued: issued))
    }
    let behind = (1...3).map { birth($0, at: start + $0) }
    #expect(conditions([enrolled, live(report(1)), birth(20, at: ahead)] + behind) == [.cloned])
    // Made before that one was received: it comes late, or again.
    let early = (1...3).map { birth($0, at: start - 86_400 + $0) }
    #expect(conditions([enrolled, live(report(1)), birth(20, at: ahead)] + early) == [])
  }

  @Test func `a report of the future has no age of its own`() {
    let ahead = report(1, at: start + 86_400, expires: start + 90_300)
    #expect(conditions([enrolled, kept(ahead)]) == [.ageUnproven])
    #expect(conditions([enrolled, live(ahead)]).isEmpty)
    let later = DeviceStatus(device([enrolled, live(ahead)]), at: start + 4_000, key: .good)
    #expect(later.conditions == [.stale])
    #expect(later.age == 3_990)
    // Clocks differ a little.
    #expect(conditions([enrolled, kept(report(1, at: start + 60))]).isEmpty)
  }

  @Test func `silence follows staleness`() {
    #expect(conditions([enrolled, live(report(1))], at: start + 7_820) == [.silent, .stale])
  }

  @Test func `a nonce or a live report proves the age`() {
    let facts = report(1, expires: nil)
    #expect(conditions([enrolled, kept(facts), .report(facts, isRetained: true, isProven: true)]).isEmpty)
    #expect(conditions([enrolled, kept(facts), live(facts)]).isEmpty)
  }

  @Test func `the next good report ends unverifiable, and other topics do not start it`() {
    #expect(conditions([enrolled, .rejected(code: "x", onReport: true), live(report(1))]).isEmpty)
    #expect(conditions([enrolled, live(report(1)), .rejected(code: "x", onReport: false)]).isEmpty)
    // The same one is back on its topic.
    #expect(
      conditions([enrolled, live(report(1)), .rejected(code: "x", onReport: true), kept(report(1))]).isEmpty)
  }

  @Test func `an older report never replaces a newer one`() {
    let state = device([enrolled, live(report(7, .fail)), kept(report(6, .pass)), live(report(7, .fail))])
    #expect(state.report?.seq == 7)
    #expect(state.replays == 1)
    let rotated = device([live(report(900, .fail)), live(report(1, .pass, kid: "k2", keyIssued: 2)), live(report(901))])
    #expect(rotated.report?.kid == "k2")
    // A credential that is renewed makes no report newer.
    let renewed = device([live(report(2, .fail)), live(report(1, .pass, keyIssued: 5))])
    #expect(renewed.report?.seq == 2)
  }

  @Test func `a report that is older than the history's does not count`() {
    let known = Observation.stored(kid: "k1", seq: 2)
    #expect(conditions([enrolled, kept(report(1)), known]) == [.stale])
    #expect(conditions([enrolled, kept(report(1)), known, live(report(2))]).isEmpty)
    #expect(conditions([enrolled, kept(report(2)), known]).isEmpty)
    // Another key counts by itself.
    #expect(conditions([enrolled, kept(report(1, kid: "k2", keyIssued: 2)), known]).isEmpty)
    // Its numbers began anew, and an operator has accepted that.
    #expect(conditions([enrolled, kept(report(1)), known, .acknowledged]).isEmpty)
    let row = DeviceRow(
      device([enrolled, kept(report(1)), known]),
      DeviceStatus(device([enrolled, kept(report(1)), known]), at: start + 10, key: .good))
    #expect(row.why.contains("the history holds a newer report"))
  }

  @Test func `an older credential changes nothing`() {
    let old = Observation.enrolled(kid: "k1", issued: 0, expires: start + 1, groups: ["mill"])
    let state = device([enrolled, old, old])
    #expect(state.groups == ["lathe"])
    #expect(state.expires == start + 1_000_000)
  }

  @Test func `the presence of a key that was given up says nothing`() {
    let next = Observation.enrolled(kid: "k2", issued: 2, expires: start + 1_000_000, groups: [])
    let state = device([enrolled, presence(9, online: true), next, presence(1, online: false, kid: "k2")])
    #expect(state.isOnline == false)
    #expect(state.challenge == nil)
    #expect(device([enrolled, next, presence(9, online: true)]).isOnline == true)
  }

  @Test func `offline cancels online up to its number and nothing later`() {
    #expect(device([presence(1, online: true), presence(1, online: false)]).isOnline == false)
    #expect(device([presence(2, online: true), presence(1, online: false)]).isOnline == true)
    #expect(device([presence(1, online: false), presence(1, online: true)]).isOnline == false)
    #expect(device([]).isOnline == nil)
  }

  @Test func `every order of arrival ends in the same state`() {
    let sets: [[Observation]] = [
      [
        enrolled, live(report(1)), live(report(2, .fail)), presence(1, online: true), presence(1, online: false),
        presence(2, online: true),
      ],
      [event(1), event(2), event(3), event(4), live(report(1, head: ChainHead(chain: "A", eseq: 4, digest: "e4")))],
      [event(1), event(2), event(4), live(report(1, head: ChainHead(chain: "A", eseq: 5, digest: "e5"))), enrolled],
      [event(1), event(2), event(2, digest: "fork"), event(3), enrolled],
      [event(1), event(2), event(3), event(3, prev: "e1", gapFrom: 2), event(4), enrolled],
      [
        event(1), event(5, prev: "e1", gapFrom: 2), event(6), enrolled,
        live(report(1, head: ChainHead(chain: "A", eseq: 6, digest: "e6"))),
      ],
      [
        live(report(1, head: ChainHead(chain: "A", eseq: 3, digest: "e3"))),
        live(report(2, head: ChainHead(chain: "B", eseq: 2, digest: "f2"))),
        event(1, digest: "f1", chain: "B"), event(2, prev: "f1", digest: "f2", chain: "B"), enrolled,
      ],
      [live(report(1, machine: "a")), live(report(2, machine: "b")), enrolled],
    ]
    for set in sets {
      var seen = Set<[String]>()
      for order in permutations(set) {
        let state = device(order)
        let status = DeviceStatus(state, at: start + 100, key: .good)
        seen.insert(
          status.conditions.map(\.rawValue) + [
            "\(String(describing: state.report?.seq))", "\(String(describing: state.isOnline))",
            "\(state.missingEvents)", "\(state.declaredLost)",
          ])
      }
      #expect(seen.count == 1, "\(seen)")
    }
  }

  @Test func `a declared gap is no breach, an undeclared one is until it is filled`() {
    let head = live(report(1, head: ChainHead(chain: "A", eseq: 6, digest: "e6")))
    #expect(
      conditions([enrolled, head, event(1), event(5, prev: "e1", gapFrom: 2), event(6)], at: start + 100).isEmpty)
    #expect(conditions([enrolled, head, event(4), event(6)], at: start + 100) == [.chainBroken])
    #expect(conditions([enrolled, head, event(4), event(6)], at: start + 30).isEmpty)
    #expect(conditions([enrolled, head, event(4), event(6), event(5)], at: start + 100).isEmpty)
  }

  @Test func `a monitor that joins later misses nothing it could not have seen`() {
    let head = live(report(1, head: ChainHead(chain: "A", eseq: 40, digest: "e40")))
    #expect(conditions([enrolled, head, event(41)], at: start + 100).isEmpty)
    #expect(conditions([enrolled, head, event(41, prev: "wrong"), event(40)], at: start + 100) == [.chainBroken])
  }

  @Test func `a new chain has to begin at its beginning`() {
    let before = live(report(1, head: ChainHead(chain: "A", eseq: 3, digest: "e3")))
    let after = live(report(2, head: ChainHead(chain: "B", eseq: 2, digest: "e2")))
    #expect(conditions([enrolled, before, after], at: start + 100) == [.chainBroken])
    #expect(
      conditions([enrolled, before, after, event(1, chain: "B"), event(2, chain: "B")], at: start + 100).isEmpty)
  }

  @Test(arguments: [Int64.min, -1, 0, 253_402_300_800, 9_007_199_254_740_991, .max])
  func `a date that is none stops nobody from reading the rest`(_ since: Int64) {
    let evidence: JSON = [
      "checks": [["check": "passcode", "result": "fail", "findings": ["f1"]]],
      "findings": [
        ["id": "f1", "code": "emptyPassword", "severity": "high", "observed": "", "since": .integer(since)]
      ],
    ]
    #expect(EvidenceReading(evidence).worst(1).map(\.code) == ["emptyPassword"])
    #expect(EvidenceLines(evidence).checks(width: 80).contains { $0.contains("emptyPassword") })
  }

  @Test func `findings that come and go change no verdict`() {
    func verdict(from: Verdict?, to: Verdict) -> Verdict? {
      let change = EventClaims.Change(
        from: from, to: to, policy: "entry", report: 2, appeared: [], resolved: [], leftOut: 0)
      let claims = EventClaims(
        issuer: Party(Name("site")!, name), issuedAt: start, clock: .synced, chain: "chain-of-test", number: 2,
        previous: String(repeating: "A", count: 43), body: .change(change))
      return EventFacts(claims, kid: "k1", digest: "e2").verdict
    }
    #expect(verdict(from: .fail, to: .fail) == nil)
    #expect(verdict(from: .pass, to: .fail) == .fail)
    #expect(verdict(from: nil, to: .fail) == .fail)
  }

  /// One more than a reader of JSON keeps exactly, or than can be counted on from.
  @Test(arguments: [Int64.max, 1 << 62, 1 << 53])
  func `a number of an event is one that can be counted on from`(_ number: Int64) {
    let claims = EventClaims(
      issuer: Party(Name("site")!, name), issuedAt: start, clock: .synced, chain: "chain-of-test", number: number,
      previous: String(repeating: "A", count: 43), body: .gap(first: 2, head: String(repeating: "A", count: 43)))
    #expect(throws: ClaimError(.range, "eseq")) { try EventClaims(claims: claims.claims) }
  }

  @Test func `an acknowledgement ends a breach`() {
    let broken = [enrolled, live(report(1)), live(report(1, digest: "other")), event(2), event(2, digest: "fork")]
    #expect(conditions(broken).contains(.equivocation))
    #expect(conditions(broken + [.acknowledged]).isEmpty)
  }

  @Test func `a long chain costs bounded memory and stays whole`() {
    var chain = EventChain()
    for eseq in Int64(1)...10_000 {
      let content: EventLink.Content = eseq == 1 ? .start(reason: "enrolled") : .change
      chain.add(
        EventLink(eseq: eseq, digest: "e\(eseq)", prev: eseq == 1 ? nil : "e\(eseq - 1)", content: content))
    }
    #expect(!chain.isForked)
    #expect(chain.missing(fromStart: true).isEmpty)
  }
}
