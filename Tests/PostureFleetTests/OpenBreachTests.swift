import Glibc
import Posture
import PosturePlatform
import PostureTokens
import TestKit
import Testing

@testable import PostureFleet

/// What a monitor noticed is known to the tools that keep no history.
@Suite(.serialized, .enabled(if: Broker.isInstalled)) struct OpenBreachTests {
  private let name = Name("edge-1")!
  private let breach = OpenBreach.equivocation

  private func text(_ output: Command.Output) -> String { String(decoding: output.out, as: UTF8.self) }

  private func add(_ kind: HistoryRemark.Kind, to site: LiveSite) throws {
    let history = try SQLiteHistory(path: try Home.prepareHistory(site.home))
    _ = try history.add(HistoryRemark(device: name, at: Clock.wall, by: "test", kind: kind))
  }

  private func withDevice(_ body: (LiveSite) throws -> Void) throws {
    let site = try LiveSite()
    let device = try site.device("edge-1")
    device.change { $0 = .healthy }
    try device.start()
    usleep(300_000)
    defer { device.stop() }
    try body(site)
  }

  @Test func `watch, show and recheck tell it in place of a pass, until it is accepted`() throws {
    try withDevice { site in
      #expect(try site.posturectl("show", "edge-1").status == 0)
      #expect(!Home.names(in: site.home.path("monitor")).contains("history.db"))
      try add(.noticed(breach), to: site)
      let watch = text(try site.posturectl("watch", "--once"))
      #expect(watch.contains("equivocation") && watch.contains(breach.text) && !watch.contains("pass (entry)"))
      let show = try site.posturectl("show", "edge-1", "--json")
      #expect(show.status == 2)
      #expect(try JSONParser.parse(text(show))["breaches"]?.array?.map { $0["breach"]?.string } == ["equivocation"])
      let recheck = try site.posturectl("recheck", "--all", "--wait")
      #expect(recheck.status == 2)
      #expect(text(recheck).contains("equivocation (entry)") && text(recheck).contains(breach.text))
      let json = try JSONParser.parse(text(try site.posturectl("recheck", "--device", "edge-1", "--wait", "--json")))
      #expect(json["devices"]?.array?.first?["state"]?.string == "equivocation")
      #expect(json["devices"]?.array?.first?["verdict"]?.string == "pass")
      #expect(try site.posturectl("acknowledge", "edge-1", "--why", "seen").status == 0)
      #expect(try site.posturectl("show", "edge-1").status == 0)
      #expect(try site.posturectl("recheck", "--all", "--wait").status == 0)
    }
  }

  @Test(.timeLimit(.minutes(1))) func `a watch that runs follows what is noticed and accepted`() throws {
    try withDevice { site in
      var watch = try FleetWatch(site.home)
      try watch.gather()
      func state() -> String? { watch.rows(at: Clock.wall).first?.standing.text }
      #expect(state() == "pass")
      try add(.noticed(breach), to: site)
      while state() != "equivocation" { watch.take(milliseconds: 200) }
      try add(.acknowledged(why: "seen"), to: site)
      while state() != "pass" { watch.take(milliseconds: 200) }
      watch.close()
    }
  }

  @Test func `a history that cannot be read is no pass`() throws {
    try withDevice { site in
      try Home.write("no database, and longer than a header", to: try Home.prepareHistory(site.home))
      for words in [["watch", "--once"], ["show", "edge-1"], ["recheck", "--all", "--wait"]] {
        let output = try site.posturectl(words)
        #expect(output.status == 70 && String(decoding: output.err, as: UTF8.self).contains("history"), "\(words)")
      }
    }
  }

  @Test func `what is open now replaces what was`() {
    func conditions(_ fleet: Fleet) -> [Condition] { fleet.status(of: name, at: 2)?.conditions ?? [] }
    var fleet = Fleet(trust: Self.trust)
    let report = ReportFacts(
      kid: "k", keyIssued: 1, seq: 1, digest: "d", issued: 1, expires: 10_000, verdict: .pass, policy: "entry")
    let cloned = OpenBreach(.cloned, chain: "", text: "two")
    fleet.recall([name: [breach]], at: 1)
    fleet.observe(.report(report, isRetained: false, isProven: false), of: name, at: 1)
    #expect(conditions(fleet).contains(.equivocation))
    fleet.recall([name: [breach, cloned]], at: 1)
    #expect(conditions(fleet).contains(.equivocation) && conditions(fleet).contains(.cloned))
    // One was accepted, and another noticed since.
    fleet.recall([name: [cloned]], at: 1)
    #expect(!conditions(fleet).contains(.equivocation) && conditions(fleet).contains(.cloned))
    fleet.recall([:], at: 1)
    #expect(!conditions(fleet).contains(.cloned))
  }

  private static var trust: TrustStore {
    try! TrustStore(site: Name("site-a")!, root: try! FileKey.generate().publicKey.jwk)
  }

  @Test func `who only reads the history makes none and changes none`() throws {
    let folder = try Folder()
    let path = folder.file("history.db")
    #expect(throws: HistoryError.self) { try SQLiteHistory.reading(path) }
    #expect(access(path, F_OK) != 0)
    let remark = HistoryRemark(device: name, at: 1, by: "test", kind: .noticed(breach))
    let history = try SQLiteHistory(path: path)
    _ = try history.add(remark)
    let reader = try SQLiteHistory.reading(path)
    #expect(try reader.openBreaches() == [name: [breach]])
    #expect(try reader.knows(name) && !reader.knows(Name("edge-2")!))
    #expect(throws: HistoryError.self) { try reader.add(remark) }
  }
}
