import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

/// What the device does when nothing happens, and when a name leads nowhere.
@Suite(.serialized, .enabled(if: Rig.isPossible, "needs root, mosquitto, mosquitto-dev and a C compiler"))
struct QuietTests {
  @Test func `an idle device wakes up twice in a keepalive interval, and computes nothing`() throws {
    let keepalive: Int64 = Long.isWanted ? 15 : 5
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
