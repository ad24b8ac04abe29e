import Glibc
import Posture
import PostureFleet
import PosturePlatform
import TestKit
import Testing

/// Debian's Chromium, driven by selenium.
enum Chromium {
  static let isPossible = access("/usr/bin/chromedriver", X_OK) == 0 && Python.has("selenium")
}

/// The page in a real Chromium, driven by Tests/page_test.py. Where somebody wants to look at the pictures:
/// POSTURE_SCREENSHOTS names a folder for them.
@Suite(.serialized, .enabled(if: Broker.isInstalled && Chromium.isPossible, "needs Chromium and selenium"))
struct PageTests {
  private func run(_ part: String, _ monitor: LiveMonitor, _ site: LiveSite, seconds: Int32) throws {
    let pictures = getenv("POSTURE_SCREENSHOTS").map { String(cString: $0) } ?? site.folder.path
    var command = Python.command([Repository.path("Tests/page_test.py"), part, monitor.address, pictures])
    command.environment.append("HOME=\(site.folder.path)")
    command.timeout = Int64(seconds) * 1_000
    let output = try command.run()
    let said = String(decoding: output.out, as: UTF8.self)
    #expect(output.status == 0, "\(said) \(String(decoding: output.err.suffix(2_000), as: UTF8.self))")
    if output.status == 0 { print(said, terminator: "") }
  }

  /// A day of samples, as a monitor that has run for a day has them.
  private func addTrend(_ site: LiveSite) throws {
    let history = try SQLiteHistory(path: try Home.prepareHistory(site.home))
    let now = Clock.wall
    for step in 0..<288 {
      let (fails, silent) = (step > 200 ? 1 : 0, step % 96 < 8 ? 2 : 0)
      try history.add(
        TrendSample(
          at: now - 86_400 + Int64(step) * 300,
          counts: ["pass": 6 - fails - silent, "fail": fails, "silent": silent].filter { $0.value > 0 }))
    }
  }

  @Test func `the page shows doors, follows changes, and runs nothing that a device wrote`() throws {
    let site = try LiveSite()
    try addTrend(site)
    let device = try site.device("edge-1", groups: ["lathe"])
    device.change { $0 = MonitorTests.hostileFacts }
    try device.start()
    let others = try (2...6).map { try site.device("edge-\($0)") }
    for other in others {
      other.change { $0 = .healthy }
      try other.start()
    }
    let monitor = try LiveMonitor(site, "--recheck")
    _ = try monitor.waitForState("edge-6", "pass")
    _ = try monitor.waitForState("edge-1", "fail")
    // Two connections under one number: something to acknowledge.
    let twin = PresenceClaims(
      issuer: others[4].party, issuedAt: Clock.wall, state: .online, connection: "another-connection", number: 1,
      clock: .synced)
    others[4].publish(.presence(others[4].party.name), .presence, others[4].sign(.presence, twin.claims))
    _ = try monitor.waitForState("edge-6", "cloned")
    try run("small", monitor, site, seconds: 120)
    device.stop()
    others.forEach { $0.stop() }
  }

  @Test func `a page that asks for a token takes it`() throws {
    let site = try LiveSite()
    let file = try site.folder.write("token", "a-token-that-is-long-enough\n")
    try run("token", try LiveMonitor(site, "--token-file", file), site, seconds: 60)
  }

  @Test(.enabled(if: Long.isWanted)) func `ten thousand devices are quick to look through`() throws {
    let site = try LiveSite(isOpen: true)
    try addTrend(site)
    try Crowd.publish(10_000, to: site)
    let monitor = try LiveMonitor(site)
    let (before, start) = (monitor.residentBytes, Clock.boottimeMilliseconds)
    var passing: Int64?
    for _ in 0..<30 where passing != 9_000 {
      passing = try monitor.wait("/api/v1/fleet") { $0["counts"]?["pass"]?.integer == 9_000 }["counts"]?["pass"]?
        .integer
    }
    let took = Clock.boottimeMilliseconds - start
    print("10,000 devices from the broker in \(took) ms, \((monitor.residentBytes - before) / 10_000) bytes each")
    let fleet = try monitor.get("/api/v1/fleet")
    #expect(fleet["total"]?.integer == 10_000)
    #expect(fleet["counts"]?["stale"]?.integer == 200)
    try run("large", monitor, site, seconds: 180)
  }
}
