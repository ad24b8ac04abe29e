import Posture
import PostureTokens
import Testing

@testable import PostureFleet

@Suite struct RecheckRunTests {
  private let one = Name("edge-1")!
  private let two = Name("edge-2")!

  private func run() -> RecheckRun {
    var run = RecheckRun(commands: ["cmd"], nonces: ["nonce"])
    run.expect(one)
    run.expect(two)
    return run
  }

  private func report(_ verdict: Verdict = .pass, nonces: [String] = ["nonce"]) -> ReportFacts {
    ReportFacts(
      kid: "k", keyIssued: 1, seq: 1, digest: "d", issued: 1, expires: nil, verdict: verdict, policy: "entry",
      nonces: nonces)
  }

  @Test func `an answer counts only with a nonce of ours`() {
    var run = run()
    run.report(report(nonces: ["another"]), from: one, after: 5)
    #expect(run.targets[one]?.outcome == .waiting(nil))
    run.report(report(nonces: ["another", "nonce"]), from: one, after: 5)
    #expect(run.targets[one]?.outcome == .answered(report(nonces: ["another", "nonce"])))
    #expect(run.targets[one]?.took == 5)
  }

  @Test func `progress and refusals count only for commands of ours, and the first outcome stays`() {
    var run = run()
    run.progress(.running, of: "other", from: one)
    run.refusal(.busy, of: "other", from: one, after: 1)
    #expect(run.targets[one]?.outcome == .waiting(nil))
    run.progress(.running, of: "cmd", from: one)
    #expect(run.targets[one]?.outcome == .waiting(.running))
    run.refusal(.busy, of: "cmd", from: one, after: 1)
    run.report(report(), from: one, after: 2)
    #expect(run.targets[one]?.outcome == .refused(.busy))
  }

  @Test func `nonsense does not silence a device, and is told where nothing else comes`() {
    var run = run()
    run.rejected("signature", from: one)
    run.rejected("signature", from: two)
    run.rejected("signature", from: Name("stranger")!)
    run.report(report(), from: one, after: 1)
    #expect(!run.isComplete)
    run.finish()
    #expect(run.targets[one]?.outcome.word == "answered")
    #expect(run.targets[two]?.outcome == .unverifiable(code: "signature"))
    #expect(run.targets.count == 2)
  }

  @Test func `a device that is not connected is not waited for, but may answer`() {
    var run = RecheckRun(commands: ["cmd"], nonces: ["nonce"])
    run.expect(one)
    run.expect(two, isOffline: true)
    run.report(report(), from: one, after: 1)
    #expect(run.isComplete)
    run.report(report(), from: two, after: 1)
    run.finish()
    #expect(run.counts.answered == 2)
  }

  @Test func `one who was not expected is added by its answer`() {
    var run = RecheckRun(commands: ["cmd"], nonces: ["nonce"])
    run.report(report(), from: one, after: 1)
    #expect(run.counts.asked == 1 && run.counts.answered == 1)
  }

  @Test func `a list that may not be whole is told, whatever was answered`() {
    var run = RecheckRun(commands: ["cmd"], nonces: ["nonce"], isPartial: true)
    run.expect(one)
    run.report(report(), from: one, after: 1)
    run.finish()
    #expect(run.exitStatus == 5)
    #expect(run.troubles.count == 1)
    #expect(RecheckTable(run).json["troubles"]?.strings == run.troubles)
    #expect(self.run().troubles.isEmpty)
  }

  @Test func `an answer of a device in doubt is no pass, and a warning takes nothing from it`() {
    func run(_ breach: Breach, _ verdict: Verdict = .pass) -> RecheckRun {
      var run = RecheckRun(commands: ["cmd"], nonces: ["nonce"])
      run.report(report(verdict), from: one, after: 1)
      run.finish()
      run.note([OpenBreach(breach, chain: "", text: "seen")], of: one)
      return run
    }
    for breach in Breach.allCases where breach != .declaredLoss {
      #expect(run(breach).exitStatus == 2 && run(breach, .fail).exitStatus == 1, "\(breach)")
      let lines = RecheckTable(run(breach)).lines(width: 120)
      #expect(lines[1].contains("\(breach.rawValue) (entry)") && lines[1].contains("seen; verdict pass"), "\(lines)")
    }
    #expect(run(.declaredLoss).exitStatus == 0)
    #expect(RecheckTable(run(.declaredLoss)).lines(width: 120)[1].contains("pass (entry)"))
  }

  @Test func `a connection that was lost is no silence of the device`() {
    var run = run()
    run.lose("broker b:1: closed")
    run.report(report(), from: one, after: 1)
    run.finish()
    #expect(run.exitStatus == 4)
    #expect(run.troubles == ["the connection was lost while answers were waited for: broker b:1: closed"])
    let json = RecheckTable(run).json
    #expect(json["troubles"]?.strings == run.troubles)
    #expect(json["devices"]?.array?[1]["why"]?.string?.contains("connection to the broker was lost") == true)
  }

  @Test func `the exit status is that of the worst outcome`() {
    func status(_ outcomes: (inout RecheckRun) -> Void) -> Int32 {
      var run = run()
      outcomes(&run)
      run.finish()
      return run.exitStatus
    }
    #expect(status { _ in } == 4)
    #expect(status { $0.report(report(.fail), from: one, after: 1) } == 4)
    #expect(
      status {
        $0.report(report(.fail), from: one, after: 1)
        $0.refusal(.rateLimited, of: "cmd", from: two, after: 1)
      } == 3)
    let pairs: [(Verdict, Verdict, Int32)] = [(.pass, .pass, 0), (.pass, .unknown, 2), (.fail, .unknown, 1)]
    for (first, second, expected) in pairs {
      #expect(
        status {
          $0.report(report(first), from: one, after: 1)
          $0.report(report(second), from: two, after: 1)
        } == expected)
    }
    #expect(RecheckRun(commands: [], nonces: []).exitStatus == 4)
  }
}

@Suite struct ViewTests {
  private func row(_ name: String, _ state: DeviceStatus.Standing, age: Int64? = 1, group: String = "a") -> DeviceRow {
    var device = DeviceState(Name(name)!, at: 0)
    device.observe(.enrolled(kid: "k", issued: 1, expires: 2, groups: [group]), at: 0)
    var row = DeviceRow(device, DeviceStatus(device, at: 0, key: .good))
    (row.standing, row.age, row.why) = (state, age, "Because of \(name)")
    return row
  }

  @Test func `rows are filtered and put in order`() {
    let rows = [
      row("pass-1", .verdict(.pass), age: 9), row("fail-1", .verdict(.fail), age: 3),
      row("stale-1", .condition(.stale), age: 5, group: "b"),
    ]
    var selection = RowSelection()
    #expect(selection.apply(to: rows).map(\.name) == ["fail-1", "stale-1", "pass-1"])
    selection.order = .name
    #expect(selection.apply(to: rows).map(\.name) == ["fail-1", "pass-1", "stale-1"])
    selection.order = .age
    #expect(selection.apply(to: rows).map(\.name) == ["pass-1", "stale-1", "fail-1"])
    selection.states = ["fail"]
    #expect(selection.apply(to: rows).map(\.name) == ["fail-1"])
    selection.states = []
    selection.group = "b"
    #expect(selection.apply(to: rows).map(\.name) == ["stale-1"])
    selection.group = nil
    selection.text = "because OF pass"
    #expect(selection.apply(to: rows).map(\.name) == ["pass-1"])
  }

  @Test func `the table fits eighty columns and the height it is given`() {
    let rows = (0..<50).map { row("a-device-with-a-rather-long-name-\($0)", .condition(.chainBroken)) }
    let lines = FleetTable(rows, at: 0).lines(width: 80, height: 20)
    #expect(lines.count == 20)
    #expect(lines.allSatisfy { $0.count <= 80 })
    #expect(lines.last?.contains("50 devices") == true)
  }

  @Test func `spans are short and clear`() {
    #expect(
      [-5, 0, 99, 100, 5_939, 5_940, 172_800].map { Span.text($0) } == ["0s", "0s", "99s", "1m", "98m", "1h", "2d"])
  }

  @Test func `a row changes with anything but its age`() {
    var changes = RowChanges()
    let before = row("edge-1", .verdict(.pass), age: 1)
    #expect(changes.take([before]).count == 1)
    #expect(changes.take([row("edge-1", .verdict(.pass), age: 2)]).isEmpty)
    #expect(changes.take([row("edge-1", .verdict(.fail), age: 2)]).count == 1)
  }

  @Test func `tokens are found alone and in exports`() {
    let lines = ["a.b.c", "", "  d.e.f \r", #"{"token":"g.h.i","x":1}"#]
    #expect(lines.map(CapturedToken.text) == ["a.b.c", nil, "d.e.f", "g.h.i"])
    #expect(throws: (any Error).self) { try CapturedToken("a.b.c") }
    #expect(throws: (any Error).self) { try CapturedToken("") }
  }

  @Test func `addresses to listen on`() {
    #expect(ListenAddress("8470") == ListenAddress(host: "127.0.0.1", port: 8_470))
    #expect(ListenAddress("[::1]:1")?.isLoopback == true)
    #expect(ListenAddress("0.0.0.0:1")?.isLoopback == false)
    for text in ["", ":", "x", "1:x", "1.2.3.4:99999", ":80"] { #expect(ListenAddress(text) == nil, "\(text)") }
  }
}
