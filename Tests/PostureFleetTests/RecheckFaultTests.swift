import Glibc
import Posture
import PostureMQTT
import PosturePlatform
import Synchronization
import TestKit
import Testing

@testable import PostureFleet

/// Rechecks over a broker that is slow, busy, or goes away.
@Suite(.serialized, .enabled(if: Broker.isInstalled)) struct RecheckFaultTests {
  private func recheck(_ site: LiveSite, _ change: (inout Recheck.Options) -> Void) throws -> Recheck {
    var options = Recheck.Options()
    change(&options)
    let recheck = try Recheck(site.home, as: Identity(.controller, in: site.home), .all, options)
    try recheck.send()
    return recheck
  }

  @Test func `devices that the broker names late are counted, and that there may be more is told`() throws {
    let site = try LiveSite(isOpen: true)
    try Crowd.publish(300, to: site)
    let whole = try recheck(site) { $0.timeout = 500 }
    whole.collect()
    #expect(whole.run.counts.silent == 300)
    #expect(whole.run.exitStatus == 4 && whole.run.troubles.isEmpty)
    let late = try recheck(site) { ($0.gathering, $0.timeout) = (0, 5_000) }
    #expect(late.run.counts.asked == 0)
    late.collect()
    #expect(late.run.counts.silent == 300)
    #expect(late.run.exitStatus == 5 && late.run.troubles.count == 1)
  }

  @Test func `what devices say meanwhile does not keep the list from ending`() throws {
    let site = try LiveSite(isOpen: true)
    try Crowd.publish(3, to: site)
    let talk = try Talk(site)
    defer { talk.end() }
    let run = try recheck(site) { ($0.gathering, $0.timeout) = (5_000, 100) }.run
    #expect(run.counts.asked == 3)
    #expect(!run.isPartial)
  }

  @Test func `a broker that goes away is told, and is not a device's silence`() throws {
    let site = try LiveSite()
    let device = try site.device("edge-1")
    device.ignore()
    try device.start()
    usleep(300_000)
    let recheck = try recheck(site) { $0.timeout = 3_000 }
    site.stopBroker()
    recheck.collect()
    #expect(recheck.run.counts.silent == 1)
    #expect(recheck.run.troubles.first?.contains("the connection was lost") == true)
    device.stop()
  }
}

/// Somebody says something on a device's topic every twentieth of a second.
private final class Talk: Sendable {
  private let client: Client
  private let isOver = Atomic(false)

  init(_ site: LiveSite) throws {
    let inbox = try Inbox()
    client = try Client(.init(.plain(host: "127.0.0.1", port: site.openPort!)), inbox: inbox)
    while let event = inbox.next(10_000) { if case .online = event { break } }
    let topic = Topic(site.home.site, .reply(Name("edge-00001")!)).text
    _ = try Thread.start("talk") { [self] in
      while !isOver.load(ordering: .acquiring) {
        client.publish(Publication(topic, text: "words"))
        usleep(50_000)
      }
      client.stop()
    }
  }

  func end() { isOver.store(true, ordering: .releasing) }
}
