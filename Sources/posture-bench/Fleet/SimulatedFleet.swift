import PostureFleet
import PostureMQTT
import PosturePlatform
import PostureTokens

/// Very many simulated devices on one thread.
final class SimulatedFleet: FleetWork {
  let tally = Tally()
  private let devices: [SimulatedDevice]
  private let loop: Loop

  /// Connections that are being made at once: the broker's queue of new ones is short.
  private static let wave = 50

  init(_ kits: [DeviceKit], in home: Home) throws(BenchError) {
    do {
      loop = try Loop()
      var trust = try TrustStore(site: home.site, root: try home.root())
      try trust.accept(Array(try Home.read(text: home.path(Home.File.trust)).utf8), at: Moment(Clock.wall))
      let tally = tally
      devices = kits.map { SimulatedDevice($0, trust: trust, tally) }
    } catch { throw BenchError("\(error)") }
  }

  deinit { devices.forEach { $0.drop() } }

  func connect(to port: UInt16) throws(BenchError) {
    for (index, device) in devices.enumerated() {
      do throws(SystemError) { try device.connect(to: port, on: loop) } catch { throw BenchError("\(error)") }
      if index >= Self.wave { try wait(60, "connect", for: index - Self.wave) { $0.online } }
    }
    try wait(60, "connect", for: devices.count) { $0.online }
  }

  /// Keys, presence and report of each, until the broker has them all.
  func publishState() throws(BenchError) {
    devices.forEach { $0.publishState() }
    try wait(240, "publish", for: 3 * devices.count) { $0.taken }
  }

  /// Waits until a count has come so far.
  private func wait(_ seconds: Int64, _ what: String, for goal: Int, _ count: (Tally.Counts) -> Int) throws(BenchError)
  {
    let end = Clock.boottimeMilliseconds + seconds * 1_000
    while count(tally.counts) < goal {
      guard Clock.boottimeMilliseconds < end else {
        throw BenchError("the fleet did not \(what) in time: \(count(tally.counts)) of \(goal), \(state)")
      }
      Clock.sleep(milliseconds: 2)
    }
  }

  /// What went otherwise than it should have; nil where nothing did.
  var fault: String? {
    let counts = tally.counts
    return counts.offline + counts.failed + counts.refused == 0 ? nil : state
  }

  private var state: String {
    let counts = tally.counts
    return "connections lost \(counts.offline), messages not taken \(counts.failed), commands refused \(counts.refused)"
  }
}
