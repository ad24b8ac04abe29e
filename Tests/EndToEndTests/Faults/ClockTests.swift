import Glibc
import Posture
import PostureFleet
import PosturePlatform
import TestKit
import Testing

@Suite(.serialized, .enabled(if: Rig.isPossible, Rig.needs))
struct ClockFaultTests {
  private static let year: Int64 = 31_557_600

  /// The administrator vouches for a clock that is wrong by years.
  @Test func `a trusted clock jumps by years, both ways`() throws {
    var options = Rig.Options()
    options.hasClock = true
    let rig = try Rig(options)
    try rig.start()
    #expect(rig.isSettled(10_000))
    // The start alone, whenever the files were made: a second look would be for nothing, and would hide the next cause.
    usleep(700_000)
    #expect(rig.status()?["watch"]?["changes"] == 0, "\(rig.silence("a change that is none"))")
    let before = try rig.usage()
    var did: [String] = []
    for years in Long.isWanted ? [20, 0, -20, 0, 9, -9, 0] : [20, -20, 0] as [Int64] {
      if rig.isOpen != (years < 0) {
        try rig.change(open: years < 0)
        #expect(rig.record.wait(for: "report", 45_000) { $0["cause"] == "change" } != nil)
      }
      try rig.turn(date: years * Self.year)
      let found = rig.record.wait(for: "report", 10_000) { $0["cause"] == "clock" }
      let report = try #require(found, "\(rig.silence("\(years) years: nothing"))")
      let issued = try #require(report["iat"]?.integer)
      if years >= 0 {
        #expect(abs(issued - (Clock.wall + years * Self.year)) < 60 && report["clk"] == "synced")
      } else {
        // Before this program was made no clock can be right.
        #expect(issued >= Release.date && report["clk"] == "unsynced" && report["exp"] == nil)
      }
      if years <= 0 {
        #expect(try rig.recheck(challenge: rig.challenge)["verdict"]?.string == (years < 0 ? "fail" : "pass"))
      }
      did.append("\(years) years")
    }
    try rig.conclude("trusted clock set by \(did.joined(separator: ", "))", since: before)
  }

  /// Nobody keeps the clock: then what it says moves nothing.
  @Test(
    .enabled(if: Rig.isLong, Rig.needsLong), .enabled(if: !Clock.isSynchronized, "somebody keeps this machine's clock"))
  func `a clock that nobody keeps jumps by years, and reconnects in each`() throws {
    var options = Rig.Options()
    options.hasClock = true
    options.clock = "auto"
    let rig = try Rig(options)
    try rig.start()
    #expect(rig.isSettled(10_000))
    var bound: Int64 = 0
    for years in [30, -30, 5, 0] as [Int64] {
      try rig.change(open: years < 0)
      try rig.turn(date: years * Self.year)
      // Certificates are then looked at without their dates.
      try rig.startCourier()
      #expect(rig.isSettled(20_000))
      let report = try rig.recheck(challenge: rig.challenge)
      let issued = try #require(report["iat"]?.integer)
      #expect(report["clk"] == "unsynced" && issued >= bound && issued <= Clock.wall + 60)
      bound = issued
    }
    try rig.turn(date: 0)
    // For the operators the age of what the broker keeps is not proven.
    try rig.conclude("untrusted clock set by 30 years both ways", since: nil, hasOperators: false)
  }

  @Test(.enabled(if: Rig.isLong, Rig.needsLong))
  func `the machine sleeps, and looks when it wakes`() throws {
    var options = Rig.Options()
    options.hasClock = true
    let rig = try Rig(options)
    try rig.start()
    #expect(rig.isSettled(10_000))
    let before = try rig.usage()
    let connections = rig.keptPresence?["conn"]?.integer ?? 0
    let night: Int64 = 8 * 3_600
    try rig.turn(date: night, sleep: night * 1_000)
    let report = rig.record.wait(for: "report", 20_000) { report in
      // A change that it wakes up to is looked at in one.
      let isOfNow = abs((report["iat"]?.integer ?? 0) - Clock.wall - night) < 60
      return isOfNow && (report["cause"] == "resume" || report["cause"] == "change")
    }
    #expect(report != nil, "\(rig.silence("nothing after sleep"))")
    // A connection that old is none.
    let topic = Topic(rig.home.site, .presence(rig.device.name)).text
    let presence = rig.hand.kept(topic, 10_000) { (BrokerRecord.claims($0[...])?["conn"]?.integer ?? 0) > connections }
    #expect(presence != nil)
    #expect(rig.text("courier.log").contains("woken"))
    try rig.conclude("sleep of eight hours", since: before, hasOperators: false, date: night)
  }
}
