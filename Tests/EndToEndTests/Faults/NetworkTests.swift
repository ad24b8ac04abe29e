import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@Suite(.serialized, .enabled(if: Rig.isPossible, Rig.needs))
struct NetworkFaultTests {
  @Test(.enabled(if: Rig.isLong, Rig.needsLong), .enabled(if: Namespaces.isPossible, "needs root and nft"))
  func `the network between two namespaces is cut`() throws {
    let network = try Namespaces()
    try withExtendedLifetime(network) {
      var options = Rig.Options()
      options.brokerPrefix = Namespaces.prefix(network.far)
      options.courierPrefix = Namespaces.prefix(network.near)
      options.address = network.address
      options.keepalive = 5
      let rig = try Rig(options)
      try rig.start()
      let before = try rig.usage()
      let load = try Load(rig)
      var noticed: [String] = []
      for cut in Namespaces.Cut.allCases + Namespaces.Cut.allCases {
        try network.cut(cut)
        let took = try #require(rig.milliseconds(20_000, until: false))
        // Twice the keepalive and a second, however silent the line is.
        #expect(took <= 11_500, "\(cut)")
        noticed.append("\(cut) \(took) ms")
        try network.mend()
        #expect(rig.milliseconds(60_000, until: true) != nil, "\(cut)")
      }
      let reports = try load.stop(rig)
      try rig.conclude(
        "network cut, noticed: \(noticed.joined(separator: ", ")), \(reports) examinations meanwhile", since: before,
        hasOperators: false)
    }
  }

  @Test func `the line is slow, trickles, is half open and ends in the middle of packets`() throws {
    var options = Rig.Options()
    options.isLinked = true
    options.keepalive = 5
    let rig = try Rig(options)
    let link = try #require(rig.link)
    try rig.start()
    let before = try rig.usage()
    let load = try Load(rig)
    let cuts = Long.isWanted ? 60 : 4
    for _ in 0..<cuts {
      link.cut(after: .random(in: 0...12_000))
      usleep(.random(in: 100_000...900_000))
    }
    var did = ["\(cuts) cuts in mid-packet"]
    for behaviour in [FaultyLink.Behaviour.delayed(300), .trickled(1)] {
      link.behave(behaviour)
      link.cut(after: 0)
      usleep(Long.isWanted ? 15_000_000 : 1_500_000)
      did.append("\(behaviour)")
    }
    if Long.isWanted {
      link.behave(.honest)
      #expect(rig.milliseconds(60_000, until: true) != nil)
      link.behave(.halfOpen)
      let took = try #require(rig.milliseconds(20_000, until: false))
      #expect(took <= 11_500)
      did.append("half open, noticed in \(took) ms")
    }
    link.behave(.honest)
    rig.leadHome()
    let reports = try load.stop(rig)
    try rig.conclude(
      "bad line (\(did.joined(separator: ", "))), \(link.bytes) bytes, \(reports) examinations meanwhile",
      since: before)
  }
}

extension Rig {
  /// Until the courier says that it is connected, or that it is not.
  func milliseconds(_ patience: Int64, until isConnected: Bool) -> Int64? {
    let begin = Clock.monotonicMilliseconds
    while Clock.monotonicMilliseconds - begin < patience {
      if status()?["courier"]?["connected"] == .bool(isConnected) { return Clock.monotonicMilliseconds - begin }
      usleep(50_000)
    }
    return nil
  }
}
