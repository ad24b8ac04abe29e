import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

/// What the device does when nothing happens, and when a name leads nowhere.
@Suite(.serialized, .enabled(if: Rig.isLong, Rig.needsLong))
struct QuietTests {
  @Test func `an idle device wakes up twice in a keepalive interval, and computes nothing`() throws {
    let keepalive: Int64 = 15
    let intervals: Int64 = 2
    var options = Rig.Options()
    options.keepalive = keepalive
    let rig = try Rig(options)
    try rig.start()
    #expect(rig.isSettled(10_000))
    // What the start had left to do is done.
    usleep(3_000_000)
    let before = try rig.usage()
    Clock.sleep(milliseconds: keepalive * intervals * 1_000 - 300)
    let after = try rig.usage()
    let courier = after.courier.waits - before.courier.waits
    let attester = after.attester.waits - before.attester.waits
    print(
      "idle for \(intervals) intervals of \(keepalive) s: courier \(courier) wake-ups, attester \(attester); processor "
        + "\(after.courier.processor - before.courier.processor) and "
        + "\(after.attester.processor - before.attester.processor) ms")
    // One ping may be on the way at either end.
    #expect(courier <= 2 * Int(intervals) + 1 && attester <= 1)
    #expect(after.courier.processor - before.courier.processor <= 10)
    #expect(after.attester.processor - before.attester.processor <= 10)
  }

  @Test func `status tells of connection, report, journal and the last error`() throws {
    let rig = try Rig()
    try rig.start()
    #expect(rig.isSettled(10_000))
    _ = try rig.recheck()
    #expect(rig.milliseconds(5_000, until: true) != nil)
    // What the courier says of itself is as old as its last word to the attester.
    let until = Clock.monotonicMilliseconds + 10_000
    while rig.status()?["courier"]?["counters"]?["obeyed"] != 1, Clock.monotonicMilliseconds < until { usleep(50_000) }
    let said = try status(rig)
    #expect(said["courier.connected"] == "true" && said["report.verdict"] == "pass", "\(said)")
    #expect(said["report.cause"] == "recheck" && said["chain.waiting"] == "0", "\(said)")
    #expect(Int(said["journal.writes"] ?? "") ?? 0 > 0 && said["courier.counters.obeyed"] == "1", "\(said)")
    #expect(said["courier.lastError"] != nil && said["watch.coverage"] == "complete", "\(said)")
  }

  /// `posture-agent status`, by name.
  private func status(_ rig: Rig) throws -> [String: String] {
    let output = try Command(Rig.program, ["status", "--config", rig.folder.file("agent.json")]).run()
    #expect(output.status == 0)
    let lines = String(decoding: output.out, as: UTF8.self).split(separator: "\n").map {
      $0.split(separator: " ", maxSplits: 1).map { $0.trimmed }
    }
    return Dictionary(lines.compactMap { $0.count == 2 ? ($0[0], $0[1]) : nil }) { $1 }
  }

  /// The resolver waits for a name server that never answers.
  @Test(.enabled(if: Namespaces.isPossible, "needs root and nft"))
  func `SIGTERM ends it within a second while a name is looked up`() throws {
    var options = Rig.Options()
    let folder = try Folder()
    chmod(folder.path, 0o755)
    try folder.write("resolv.conf", "nameserver 127.0.0.1\n", mode: 0o644)
    try folder.write("nsswitch.conf", "hosts: dns\npasswd: files\ngroup: files\n", mode: 0o644)
    options.courierPrefix = [
      "/usr/bin/unshare", "-n", "-m", "/bin/sh", "-c",
      "ip link set lo up && mount --bind \(folder.file("resolv.conf")) /etc/resolv.conf && "
        + "mount --bind \(folder.file("nsswitch.conf")) /etc/nsswitch.conf && "
        + "nft 'table ip mute { chain input { type filter hook input priority 0; udp dport 53 drop; }; }' && "
        + "exec \"$0\" \"$@\"",
    ]
    options.settings = [
      JSON.Member("broker", ["host": "broker.site.example", "port": 8883, "serverName": "broker.site.example"])
    ]
    let rig = try Rig(options)
    try rig.startAttester()
    usleep(1_000_000)
    try rig.startCourier()
    usleep(2_500_000)
    // It is in the middle of it: nothing has failed yet.
    #expect(rig.courier?.status == nil)
    #expect(!rig.text("courier.log").contains("broker:"), "\(rig.text("courier.log"))")
    rig.courier?.send(SIGHUP)
    usleep(300_000)
    #expect(rig.text("courier.log").contains("configuration read again"))
    let took = try #require(rig.stopCourier())
    print("SIGTERM during a name lookup: \(took) ms")
    #expect(took < 1_000)
  }
}

extension Substring {
  fileprivate var trimmed: String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
