import Posture
import PostureFleet
import PosturePlatform
import TestKit
import Testing

/// A device without a battery for its clock wakes in 1970.
@Suite(
  .serialized, .enabled(if: Rig.isPossible, Rig.needs),
  .enabled(if: !Clock.isSynchronized, "somebody keeps this machine's clock"))
struct FirstBootTests {
  @Test func `in 1970 it connects, answers who shows its challenge and refuses who does not`() throws {
    var options = Rig.Options()
    options.hasClock = true
    options.clock = "auto"
    let rig = try Rig(options)
    try rig.turn(date: -Clock.wall)
    try rig.start()
    #expect(rig.isSettled(10_000))
    let challenge = try #require(rig.challenge)

    let report = try rig.recheck(challenge: challenge)
    let issued = try #require(report["iat"]?.integer)
    #expect(report["clk"] == "unsynced" && report["exp"] == nil && report["verdict"] == "pass")
    #expect(issued >= Release.date, "time is not before the program was made")

    for wrong in [nil, String(challenge.reversed())] {
      let command = try rig.command(challenge: wrong)
      rig.publish(.recheckDevice(rig.device.name), command.token)
      let jti = try #require(BrokerRecord.claims(command.token[...])?["jti"]?.string)
      let reply = rig.record.wait(for: "reply", 10_000) { $0["cmd"]?.string == jti }
      #expect(reply?["code"] == "staleChallenge", "\(wrong ?? "none"): \(reply?.text ?? "nothing")")
    }
    try rig.conclude("first boot in 1970", since: nil, hasOperators: false)
  }
}
