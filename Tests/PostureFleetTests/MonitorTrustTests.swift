import Glibc
import Posture
import PostureFleet
import PostureMQTT
import PosturePlatform
import TestKit
import Testing

/// What a monitor makes of the site's trust, and keeps of it.
@Suite(.serialized, .enabled(if: Broker.isInstalled && access("/usr/bin/curl", X_OK) == 0)) struct MonitorTrustTests {
  @Test func `the newest trust document is remembered as it comes`() throws {
    let site = try LiveSite()
    let monitor = try LiveMonitor(site)
    func floor() -> Int64? { (try? Home.read(json: site.home.path("seen.json")))?["floor"]?.integer }
    #expect(eventually { floor() != nil })
    let first = floor() ?? 0
    #expect(try site.posturectl("trust", "renew").status == 0)
    #expect(eventually { floor() ?? 0 > first })
    #expect(monitor.stop() == 0)
  }

  @Test func `a list of revoked keys that is not there in full is told`() throws {
    let site = try LiveSite()
    let devices = try ["edge-1", "edge-2"].map { try site.device($0) }
    for device in devices { device.change { $0 = .healthy } }
    try devices[0].start()
    #expect(try site.posturectl("trust", "revoke", "edge-2").status == 0)
    // The broker loses the list and keeps the document that names it.
    let link = try OperatorLink(site.home, as: .issuer, subscribe: [])
    try link.waitOnline()
    try link.publish(Publication(Topic(site.home.site, .revoked).text, [], retain: true))
    link.close()
    let monitor = try LiveMonitor(site)
    func isTold(_ fleet: JSON) -> Bool { fleet["notices"]?.text.contains("list of revoked keys has not come") ?? false }
    #expect(isTold(try monitor.wait("/api/v1/fleet", until: isTold)))
    #expect(try monitor.waitForState("edge-1", "trustStale")["state"]?.string == "trustStale")
    #expect(try site.posturectl("trust", "renew").status == 0)
    #expect(try monitor.waitForState("edge-1", "pass")["state"]?.string == "pass")
    #expect(!isTold(try monitor.wait("/api/v1/fleet") { !isTold($0) }))
    devices[0].stop()
  }
}
