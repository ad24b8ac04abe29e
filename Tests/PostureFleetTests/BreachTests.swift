import Glibc
import PosturePlatform
import PostureTokens
import TestKit
import Testing

@testable import Posture
@testable import PostureFleet

/// What has to be looked at by an operator: how it begins, lasts, and ends.
@Suite struct BreachTests {
  private let name = Name("edge-1")!

  private func link(_ eseq: Int64, prev: String? = nil, digest: String? = nil, content: EventLink.Content = .change)
    -> EventLink
  {
    EventLink(
      eseq: eseq, digest: digest ?? "e\(eseq)", prev: eseq == 1 ? nil : prev ?? "e\(eseq - 1)", content: content)
  }

  private func event(_ link: EventLink, chain: String = "A") -> Observation {
    .event(EventFacts(kid: "k", chain: chain, link: link, issued: 100, verdict: nil))
  }

  private func report(_ seq: Int64, eseq: Int64, chain: String = "A") -> Observation {
    .report(
      ReportFacts(
        kid: "k", keyIssued: 1, seq: seq, digest: "d\(seq)", issued: 100, expires: 10_000, verdict: .pass,
        policy: "entry", head: ChainHead(chain: chain, eseq: eseq, digest: "e\(eseq)")), isRetained: false,
      isProven: false)
  }

  private func device(_ observations: [Observation]) -> DeviceState {
    observations.reduce(into: DeviceState(name, at: 100)) { $0.observe($1, at: 100) }
  }

  private func conditions(_ device: DeviceState, at now: Int64 = 300) -> [Condition] {
    DeviceStatus(device, at: now, key: .good).conditions
  }

  @Test func `an accepted break does not come back by a late duplicate, and the next one is told`() {
    var state = device([report(1, eseq: 9), event(link(3)), event(link(9))])
    #expect(conditions(state) == [.chainBroken])
    state.observe(.acknowledged, at: 300)
    #expect(conditions(state).isEmpty)
    for late in [event(link(3)), event(link(5)), event(link(9)), report(1, eseq: 9)] { state.observe(late, at: 310) }
    #expect(conditions(state, at: 500).isEmpty)
    state.observe(event(link(10)), at: 320)
    #expect(conditions(state, at: 500).isEmpty)
    state.observe(event(link(12)), at: 330)
    #expect(conditions(state, at: 500) == [.chainBroken])
    #expect(state.missingEvents == [11...11])
  }

  @Test func `what is missing is not forgotten, however long the chain goes on`() {
    var state = device([event(link(1)), event(link(2)), event(link(5))])
    for eseq in Int64(6)...2_000 { state.observe(event(link(eseq)), at: 100) }
    state.observe(report(1, eseq: 2_000), at: 100)
    #expect(state.missingEvents == [3...4])
    #expect(conditions(state) == [.chainBroken])
  }

  @Test func `a breach that the history holds lasts until it is accepted, or a whole new chain begins`() {
    let known = Observation.breached(OpenBreach(.chainBroken, chain: "A", text: "events missing: 3-4"))
    let state = device([known, report(1, eseq: 9)])
    #expect(conditions(state) == [.chainBroken])
    #expect(state.breaches([.chainBroken]) == [OpenBreach(.chainBroken, chain: "A", text: "events missing: 3-4")])
    #expect(conditions(device([known, report(1, eseq: 9), .acknowledged])).isEmpty)
    // The new one has to begin at its beginning.
    #expect(conditions(device([known, report(2, eseq: 2, chain: "B")])) == [.chainBroken])
    // Which is an event that says why there is a new one.
    let first = { (content: EventLink.Content) in event(link(1, content: content), chain: "B") }
    #expect(conditions(device([known, report(2, eseq: 1, chain: "B"), first(.start(reason: "newKey"))])).isEmpty)
    #expect(conditions(device([known, report(2, eseq: 1, chain: "B"), first(.gap(first: 1))])).isEmpty)
    #expect(conditions(device([known, report(2, eseq: 1, chain: "B"), first(.change)])) == [.chainBroken])
    #expect(conditions(device([known, report(2, eseq: 0, chain: "B")])) == [.chainBroken])
    for breach in [Breach.equivocation, .cloned] {
      let key = Observation.breached(OpenBreach(breach, chain: "", text: "seen before"))
      #expect(conditions(device([key, report(2, eseq: 2, chain: "B")])) == [breach.condition!])
    }
  }

  /// No moment of grace between them, in which the device would look whole.
  @Test func `a broken chain is not left behind by beginning another`() {
    let forked = [event(link(1, content: .start(reason: "enrolled"))), event(link(2)), event(link(2, digest: "other"))]
    let known = Observation.breached(OpenBreach(.chainBroken, chain: "A", text: "events missing: 3-4"))
    for broken in [forked, [known]] {
      let left = broken + [report(1, eseq: 2), report(2, eseq: 0, chain: "B")]
      #expect(conditions(device(left), at: 101) == [.chainBroken])
      let begun = event(link(1, content: .start(reason: "lostStore")), chain: "B")
      #expect(conditions(device(left + [begun]), at: 101).isEmpty)
    }
  }

  @Test func `invented chains do not push out the memory of a broken one`() {
    let start = { event(link(1, content: .start(reason: "enrolled")), chain: $0) }
    let forked = [start("A"), event(link(2)), event(link(2, digest: "other"))]
    let torn = [start("A"), event(link(4))]
    let known = [Observation.breached(OpenBreach(.chainBroken, chain: "A", text: "events missing: 3-4"))]
    let invented: [(String) -> [Observation]] = [
      { [event(link(7), chain: $0)] }, { [start($0)] }, { [start($0), event(link(5), chain: $0)] },
      { [event(link(7), chain: $0), event(link(7, digest: "other"), chain: $0)] },
    ]
    for broken in [forked, torn, known] {
      for invent in invented {
        let crowd = (1...9).flatMap { invent("X\($0)") }
        for order in [
          broken + [report(1, eseq: 4)] + crowd + [report(2, eseq: 0, chain: "B")] + crowd,
          broken + crowd + [report(2, eseq: 0, chain: "B")],
          [report(1, eseq: 4)] + crowd + [report(2, eseq: 9, chain: "B")] + crowd + broken,
        ] {
          var state = device(order)
          #expect(conditions(state) == [.chainBroken])
          for next in ["C", "D", "E", "F", "G"].enumerated() {
            state.observe(report(3 + Int64(next.offset), eseq: 0, chain: next.element), at: 300)
          }
          #expect(conditions(state, at: 301) == [.chainBroken])
          state.observe(start("G"), at: 302)
          #expect(conditions(state, at: 303).isEmpty)
        }
      }
    }
    // Back to the broken one, whose memory is still there.
    let back =
      forked + [report(1, eseq: 2)] + (1...9).flatMap { invented[2]("X\($0)") }
      + [report(2, eseq: 0, chain: "B"), start("Y"), report(3, eseq: 2)]
    #expect(conditions(device(back)) == [.chainBroken])
  }

  /// With a monitor that was started again, too.
  @Test func `the first report of another chain has no moment of grace where one is broken already`() {
    let known = Observation.breached(OpenBreach(.chainBroken, chain: "A", text: "events missing: 3-4"))
    let forked = [event(link(2)), event(link(2, digest: "other"))]
    for broken in [[known], forked] {
      #expect(conditions(device(broken + [report(2, eseq: 2, chain: "B")]), at: 101) == [.chainBroken])
    }
  }

  @Test func `a chain that is dropped for one without events is missed`() {
    let left = [report(1, eseq: 0), report(2, eseq: 0, chain: "B")]
    #expect(conditions(device(left)) == [.chainBroken])
    #expect(conditions(device([report(1, eseq: 0)])).isEmpty)
  }

  @Test func `what a device declares lost has no bound, and breaks nothing`() {
    let most = ClaimReader.counts.upperBound
    var state = device([report(1, eseq: most)])
    for number in Int64(0)..<1_100 {
      state.observe(
        event(link(most - number, prev: "e\(number)", digest: "g\(number)", content: .gap(first: 2))), at: 100)
    }
    for number in Int64(0)..<300 { state.observe(event(link(2_000 + 2 * number, content: .gap(first: 1))), at: 100) }
    #expect(state.declaredLost > 0)
    #expect(state.declared != nil)
  }

  @Test func `a declared loss is a warning, told until it is accepted`() {
    let gap = event(link(5, prev: "e1", content: .gap(first: 2)))
    var state = device([event(link(1)), gap, report(1, eseq: 5)])
    let row = DeviceRow(state, DeviceStatus(state, at: 300, key: .good))
    #expect(row.standing == .verdict(.pass))
    #expect(row.why.contains("4 events declared lost"))
    #expect(state.breaches([]).map(\.breach) == [.declaredLoss])
    state.observe(.acknowledged, at: 300)
    #expect(state.breaches([]).isEmpty && state.declared == nil)
    for reason in ["damagedStore", "lostStore"] {
      #expect(device([event(link(1, content: .start(reason: reason)))]).declared?.contains("a new chain") == true)
    }
    #expect(device([event(link(1, content: .start(reason: "newKey")))]).declared == nil)
  }

  @Test func `what is open follows from what was said`() {
    func remark(_ kind: HistoryRemark.Kind) -> HistoryRemark {
      HistoryRemark(device: name, at: 1, by: "monitor", kind: kind)
    }
    let broken = OpenBreach(.chainBroken, chain: "A", text: "3-4")
    let cloned = OpenBreach(.cloned, chain: "", text: "two")
    let noticed = [remark(.noticed(broken)), remark(.noticed(cloned))]
    #expect(HistoryRemark.open(noticed)[name] == [broken, cloned])
    #expect(HistoryRemark.open(noticed + noticed)[name] == [broken, cloned])
    // The monitor was killed between the message and its remark.
    let later = HistoryRemark.open(noticed, contradicted: [name: 200])
    #expect(later[name]?.map(\.breach) == [.chainBroken, .cloned, .equivocation])
    let seen = HistoryRemark(device: name, at: 200, by: "page", kind: .acknowledged(why: "x"))
    #expect(HistoryRemark.open([seen], contradicted: [name: 200]).isEmpty)
    #expect(HistoryRemark.open([seen], contradicted: [name: 201])[name]?.map(\.breach) == [.equivocation])
    #expect(HistoryRemark.open(noticed + [remark(.ended(.chainBroken))])[name] == [cloned])
    #expect(HistoryRemark.open(noticed + [remark(.acknowledged(why: "x"))]).isEmpty)
    #expect(
      HistoryRemark.open(noticed + [remark(.acknowledged(why: "x")), remark(.noticed(broken))])[name] == [broken])
    for remark in noticed + [remark(.ended(.cloned)), remark(.acknowledged(why: "seen")), remark(.unstored(3))] {
      let row = remark.row
      #expect(HistoryRemark.kind(what: row.what, chain: row.chain, text: row.text) == remark.kind)
    }
  }

  @Test func `remarks are stored, and open ones outlive the retention`() throws {
    let folder = try Folder()
    let history = try SQLiteHistory(path: folder.file("history.db"))
    let broken = OpenBreach(.chainBroken, chain: "A", text: "3-4")
    func add(_ at: Int64, _ device: String, _ kind: HistoryRemark.Kind) throws -> Int64 {
      try history.add(HistoryRemark(device: Name(device)!, at: at, by: "monitor", kind: kind))
    }
    let first = try add(10, "edge-1", .noticed(broken))
    _ = try add(10, "edge-2", .noticed(broken))
    _ = try add(11, "edge-2", .acknowledged(why: "power cut"))
    let last = try add(30, "edge-2", .noticed(broken))
    let all = try history.remarks(after: 0)
    #expect(all.remarks.count == 4 && all.last == last)
    #expect(try history.remarks(after: first).remarks.count == 3)
    #expect(try history.remarks(of: Name("edge-2")!, limit: 2).map(\.at) == [30, 11])
    _ = try history.prune(before: 20)
    let left = try history.remarks(after: 0)
    #expect(left.remarks.map(\.at) == [10, 30])
    #expect(HistoryRemark.open(left.remarks).count == 2)
    #expect(try history.remarks(after: left.last).last == left.last)
  }
}
