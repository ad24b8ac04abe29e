import Glibc
import Posture
import PosturePlatform
import PostureTokens
import TestKit
import Testing

@testable import PostureFleet

/// A device's disk copied to a second machine, both running: the monitor names it.
@Suite(.serialized, .enabled(if: Broker.isInstalled)) struct CloneTests {
  @Test(.timeLimit(.minutes(3))) func `two agents with one disk are named`() throws {
    let site = try LiveSite()
    let agent = try RealAgent(site, "edge-1")
    let copy = try RealAgent(copyOf: agent)
    try agent.start()
    #expect(eventually { agent.counter("reports") > 0 }, "\(agent.log)")
    var watch = try FleetWatch(site.home)
    try watch.gather()
    #expect(conditions(watch).isDisjoint(with: [.cloned, .equivocation]))
    try copy.start()
    let until = Clock.monotonicMilliseconds + 60_000
    while !conditions(watch).contains(.cloned), Clock.monotonicMilliseconds < until { watch.take(milliseconds: 500) }
    #expect(conditions(watch).contains(.cloned), "\(copy.log)")
    #expect(watch.rows(at: Clock.wall).first?.standing.text != "pass")
    watch.close()
  }

  private func conditions(_ watch: FleetWatch) -> Set<Condition> {
    Set(watch.rows(at: Clock.wall).flatMap(\.conditions))
  }
}
