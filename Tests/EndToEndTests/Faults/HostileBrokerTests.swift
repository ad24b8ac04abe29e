import Glibc
import Posture
import PostureFleet
import PosturePlatform
import TestKit
import Testing

/// Another broker in the place of ours (hostile_broker.py).
private final class Impostor {
  private let process: RunningProcess

  init(_ rig: Rig, _ mode: String, _ words: [String] = []) throws {
    let port = try Loopback.freePort()
    process = try RunningProcess(
      "/usr/bin/python3",
      [Repository.path("Tests/Judges/hostile_broker.py"), "\(port)", rig.home.path("broker"), mode] + words,
      log: rig.folder.file("impostor.log"))
    #expect(Loopback.waitUntilOpen(port, 15_000))
    rig.link?.lead(to: port)
    rig.link?.cut(after: 0)
  }

  func leave(_ rig: Rig) {
    rig.leadHome()
    process.crash()
  }
}

@Suite(.serialized, .enabled(if: Rig.isLong, Rig.needsLong))
struct BrokerFaultTests {
  private static let connacks = [
    128, 129, 130, 131, 133, 134, 135, 136, 137, 138, 140, 144, 149, 151, 153, 154, 155, 156, 157, 159,
  ]
  private static let disconnects = [
    0, 128, 129, 130, 131, 135, 137, 139, 141, 142, 143, 144, 147, 148, 149, 150, 151, 152, 156, 157, 159, 160,
  ]

  private func linked() throws -> Rig {
    var options = Rig.Options()
    options.isLinked = true
    let rig = try Rig(options)
    try rig.start()
    return rig
  }

  @Test func `a broker that says nothing, floods, and gives every reason to go away`() throws {
    let rig = try linked()
    let before = try rig.usage()
    var did: [String] = []
    for (mode, patience) in [("mute", 22), ("silent", 22), ("flood", 8)] as [(String, UInt32)] {
      let impostor = try Impostor(rig, mode)
      usleep(patience * 1_000_000)
      let said = rig.text("courier.log")
      #expect(said.contains(mode == "flood" ? "a packet of more than" : "the handshake took too long"), "\(mode)")
      impostor.leave(rig)
      did.append(mode)
    }
    for (mode, codes) in [("connack", Self.connacks), ("disconnect", Self.disconnects)] {
      let impostor = try Impostor(rig, mode, codes.map(String.init))
      #expect(hears(codes, rig).isEmpty, "\(mode)")
      impostor.leave(rig)
      did.append("\(mode) \(codes.count) codes")
    }
    rig.courier?.send(SIGHUP)
    try rig.change(open: true)
    try rig.conclude("broker: \(did.joined(separator: ", "))", since: before)
  }

  /// Those of the codes that the courier's last error never was.
  private func hears(_ codes: [Int], _ rig: Rig) -> Set<Int> {
    var left = Set(codes)
    let until = Clock.monotonicMilliseconds + 60_000
    var kick: Int64 = 0
    while !left.isEmpty, Clock.monotonicMilliseconds < until {
      let said = rig.status()?["courier"]?["lastError"]?.string ?? ""
      left = left.filter { !said.contains($0 == 0 ? "connection closed" : "(\($0))") }
      // What somebody has to put right first is not tried again at once: a new configuration is such a thing.
      if Clock.monotonicMilliseconds >= kick {
        rig.courier?.send(SIGHUP)
        kick = Clock.monotonicMilliseconds + 500
      }
      usleep(20_000)
    }
    return left
  }

  @Test(arguments: ["old", "bytes", "torn"])
  func `a broker of the older version, one byte by byte, one that tears packets`(_ mode: String) throws {
    let rig = try linked()
    #expect(rig.isSettled(10_000))
    let before = try rig.usage()
    let load = try Load(rig)
    let impostor = try Impostor(rig, mode, [rig.hand.path])
    usleep(15_000_000)
    let reports = try load.stop(rig)
    if mode == "old" {
      #expect(rig.milliseconds(20_000, until: true) != nil)
      #expect(rig.text("courier.log").contains("connected, MQTT 3.1.1"))
      // The same work in the older version.
      #expect(try rig.recheck(challenge: rig.challenge)["verdict"]?.string == (rig.isOpen ? "fail" : "pass"))
    }
    impostor.leave(rig)
    try rig.conclude("broker: \(mode), \(reports) examinations meanwhile", since: before)
  }

  @Test func `a broker deletes what it keeps`() throws {
    let rig = try Rig()
    try rig.start()
    #expect(rig.isSettled(10_000))
    let before = try rig.usage()
    for place in [Topic.Place.report(rig.device.name), .keys(rig.device.name), .presence(rig.device.name)] {
      rig.publish(place, "", retain: true)
    }
    for place in [Topic.Place.presence(rig.device.name), .keys(rig.device.name), .report(rig.device.name)] {
      let kept = rig.hand.kept(Topic(rig.home.site, place).text, 15_000) { !$0.isEmpty }
      #expect(kept?.isEmpty == false, "\(place)")
    }
    try rig.conclude("broker deletes all it kept of the device", since: before)
  }
}
