import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@Suite(.serialized, .enabled(if: Rig.isPossible, Rig.needs))
struct CrashFaultTests {
  @Test func `the broker is killed and restarted under load`() throws {
    let rig = try Rig()
    try rig.start()
    let before = try rig.usage()
    let load = try Load(rig)
    let rounds = Long.isWanted ? 50 : 3
    for round in 0..<rounds {
      usleep(.random(in: 200_000...900_000))
      rig.stopBroker(kill: round % 3 != 2)
      usleep(.random(in: 0...300_000))
      try rig.startBroker()
    }
    let reports = try load.stop(rig)
    // What was counted so far goes out with each birth.
    #expect(rig.isSettled(90_000))
    #expect(rig.keptPresence?["counters"]?["connects"]?.integer ?? 0 > 0)
    try rig.conclude("broker killed or stopped \(rounds) times, \(reports) examinations meanwhile", since: before)
  }

  /// It is another process with other watches, and has counted as many changes as the one before.
  @Test(.enabled(if: Rig.isLong, Rig.needsLong))
  func `an attester that was killed is asked to look, and sees the next change`() throws {
    let rig = try Rig()
    try rig.start()
    for _ in 0..<2 {
      #expect(rig.isSettled(10_000))
      rig.crashAttester()
      try rig.startAttester()
      #expect(rig.record.wait(for: "report", 30_000) { $0["cause"] == "change" } != nil, "\(rig.silence("no look"))")
      try rig.change(open: !rig.isOpen)
      let verdict = rig.isOpen ? "fail" : "pass"
      #expect(
        rig.record.wait(for: "report", 10_000) { $0["verdict"]?.string == verdict } != nil, "\(rig.silence(verdict))")
    }
    try rig.conclude("attester killed while nothing happened", since: nil)
  }

  @Test func `attester and courier are killed at random moments`() throws {
    let rig = try Rig()
    try rig.start()
    let load = try Load(rig)
    let rounds = Long.isWanted ? 200 : 4
    for _ in 0..<rounds {
      for isCourier in [true, false].shuffled() {
        usleep(.random(in: 0...700_000))
        if isCourier { try rig.startCourier() } else { try rig.startAttester() }
      }
    }
    let reports = try load.stop(rig)
    try rig.conclude(
      "courier and attester killed \(rounds) times each, \(reports) examinations meanwhile", since: nil)
  }
}
