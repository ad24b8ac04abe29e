import Glibc
import Posture
import PostureFleet
import PosturePlatform
import TestKit
import Testing

/// A long time with faults, on the same two processes. POSTURE_SOAK: seconds.
@Suite(.serialized, .enabled(if: Rig.isLong, Rig.needsLong))
struct SoakTests {
  private static let length = getenv("POSTURE_SOAK").flatMap { Int64(String(cString: $0)) } ?? 180
  /// Kilobytes that a process may grow by once it has warmed up.
  private static let growth = 1_024

  @Test func `a long time with faults leaves nothing behind`() throws {
    var options = Rig.Options()
    options.isLinked = true
    options.keepalive = 5
    let rig = try Rig(options)
    try rig.start()
    #expect(rig.isSettled(10_000))
    let load = try Load(rig, pause: 400)
    let begin = Clock.monotonicMilliseconds
    var samples: [(at: Int64, Rig.Usages)] = []
    var faults: [String: Int] = [:]
    while Clock.monotonicMilliseconds - begin < Self.length * 1_000 {
      let fault = Fault.allCases.randomElement()!
      try fault.befall(rig)
      faults["\(fault)", default: 0] += 1
      // Compared are moments of peace.
      #expect(rig.milliseconds(60_000, until: true) != nil, "\(fault)")
      samples.append((Clock.monotonicMilliseconds - begin, try rig.usage()))
    }
    let reports = try load.stop(rig)
    try report(samples, faults)
    try rig.conclude("soak of \(Self.length) s, \(reports) examinations", since: nil)
  }

  private func report(_ samples: [(at: Int64, Rig.Usages)], _ faults: [String: Int]) throws {
    let warm = samples.filter { $0.at > Self.length * 200 }.map(\.1)
    let third = warm.count / 3
    try #require(third > 0)
    print("faults: \(faults.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))")
    for (name, pick) in [("attester", \Rig.Usages.attester), ("courier", \.courier)] {
      let (early, late) = (warm.prefix(third).map { $0[keyPath: pick] }, warm.suffix(third).map { $0[keyPath: pick] })
      let growth = median(late.map(\.residentKilobytes)) - median(early.map(\.residentKilobytes))
      print(
        "\(name): \(median(early.map(\.residentKilobytes))) KB, then \(growth) KB more; descriptors "
          + "\(median(early.map(\.descriptors))) to \(median(late.map(\.descriptors))), threads "
          + "\(median(early.map(\.threads))) to \(median(late.map(\.threads)))")
      #expect(growth < Self.growth, "\(name)")
      #expect(median(late.map(\.descriptors)) <= median(early.map(\.descriptors)), "\(name)")
      #expect(median(late.map(\.threads)) <= median(early.map(\.threads)), "\(name)")
    }
  }

  private func median(_ values: [Int]) -> Int { values.sorted()[values.count / 2] }
}

private enum Fault: CaseIterable {
  case cut, slow, trickle, halfOpen, brokerKilled, brokerStopped, deleted, reload, command, quiet

  func befall(_ rig: Rig) throws {
    switch self {
    case .cut:
      rig.link?.cut(after: .random(in: 0...8_000))
      usleep(2_000_000)
    case .slow: try behave(rig, .delayed(400), 4_000_000)
    case .trickle: try behave(rig, .trickled(1), 4_000_000)
    case .halfOpen: try behave(rig, .halfOpen, .random(in: 1_000_000...12_000_000))
    case .brokerKilled, .brokerStopped:
      rig.stopBroker(kill: self == .brokerKilled)
      usleep(.random(in: 0...2_000_000))
      try rig.startBroker()
    case .deleted: rig.publish(.presence(rig.device.name), "", retain: true)
    case .reload: rig.courier?.send(SIGHUP)
    case .command:
      for _ in 0..<20 { rig.publish(.recheckDevice(rig.device.name), try rig.command().token) }
    case .quiet: usleep(3_000_000)
    }
  }

  private func behave(_ rig: Rig, _ behaviour: FaultyLink.Behaviour, _ microseconds: UInt32) throws {
    rig.link?.behave(behaviour)
    usleep(microseconds)
    rig.link?.behave(.honest)
  }
}
