import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@testable import PostureFleet

/// Rechecks of a device that is away when it is asked.
@Suite(.serialized, .enabled(if: Broker.isInstalled)) struct AbsentDeviceTests {
  private func recheck(_ site: LiveSite, absence: Int64) throws -> Recheck {
    var options = Recheck.Options()
    options.absence = absence
    let recheck = try Recheck(site.home, as: Identity(.controller, in: site.home), .devices([Name("edge-1")!]), options)
    try recheck.send()
    return recheck
  }

  @Test(.timeLimit(.minutes(2)))
  func `one that comes back in time is asked then, one that stays away is not waited for`()
    throws
  {
    let site = try LiveSite()
    let agent = try RealAgent(site, "edge-1")
    try agent.start()
    #expect(eventually { agent.counter("reports") > 0 }, "\(agent.log)")
    agent.stop()

    let absent = try recheck(site, absence: 500)
    let began = Clock.boottimeMilliseconds
    absent.collect()
    #expect(absent.run.targets[agent.name]?.outcome == .silent && absent.run.targets[agent.name]?.isOffline == true)
    #expect(Clock.boottimeMilliseconds - began < 10_000)

    let returning = try recheck(site, absence: 25_000)
    let areOffline = returning.run.targets.values.allSatisfy(\.isOffline)
    #expect(areOffline)
    try agent.start()
    returning.collect()
    #expect(returning.run.counts.answered == 1, "\(returning.run.summary) \(agent.log)")
    #expect(returning.tokens[agent.name] != nil)
    agent.stop()
  }
}
