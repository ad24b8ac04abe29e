import Posture
import PostureFleet
import PosturePlatform
import PostureTokens

/// One way through a fleet's work, in seconds.
struct FleetTimes {
  var connect = 0.0
  var publish = 0.0
  var gather = 0.0
  var recheck = 0.0

  /// CPU time of everything that took part, from the publishing on: what a machine that does other things does not
  /// change.
  var cpu = 0.0

  /// Publish, ask, collect and verify.
  var work: Double { publish + gather + recheck }

  static func seconds<Failure>(_ body: () throws(Failure) -> Void) throws(Failure) -> Double {
    let start = Clock.monotonicNanoseconds
    try body()
    return Double(Clock.monotonicNanoseconds - start) / 1e9
  }
}

/// The product's way: simulated devices, and the recheck that `posturectl recheck --all --wait` makes.
struct FleetRun {
  let site: BenchSite
  let kits: [DeviceKit]

  struct Result {
    var times = FleetTimes()
    var counts: RecheckRun.Counts?
    var verified = 0
    var brokerBytes = 0
    var fault: String?
  }

  /// `then` is called while everything is still connected.
  func product(_ then: () throws(BenchError) -> Void = {}) throws(BenchError) -> Result {
    try site.restartBroker()
    let trust: TrustStore
    do { trust = try site.trust() } catch { throw BenchError("\(error)") }
    let before = ProcessReading(site.broker.pid).pss
    let fleet = try SimulatedFleet(kits, trust: trust)
    var result = Result()
    result.times.connect = try FleetTimes.seconds { () throws(BenchError) in
      try fleet.connect(to: site.home.settings.devicePort)
    }
    let cpu = self.cpu
    result.times.publish = try FleetTimes.seconds { () throws(BenchError) in try fleet.publishState() }
    try recheck(&result)
    result.times.cpu = self.cpu - cpu
    result.brokerBytes = ProcessReading(site.broker.pid).pss - before
    result.fault = fleet.fault
    try then()
    return result
  }

  private func recheck(_ result: inout Result) throws(BenchError) {
    var options = Recheck.Options()
    options.timeout = 240_000
    options.gathering = 120_000
    options.command.life = 300
    do {
      var recheck: Recheck?
      result.times.gather = try FleetTimes.seconds { () throws in
        recheck = try Recheck(site.home, as: try Identity(.controller, in: site.home), .all, options)
      }
      result.times.recheck = try FleetTimes.seconds { () throws in
        try recheck?.send()
        recheck?.collect()
      }
      result.counts = recheck?.run.counts
      result.verified = recheck?.fleet.counters.verified ?? 0
    } catch { throw BenchError("recheck: \(error)") }
  }

  /// The floor's way.
  func floor() throws(BenchError) -> FleetTimes {
    try site.restartBroker()
    let (key, command) = try command()
    let settings = site.home.settings
    var times = FleetTimes()
    var made: BareFleet?
    times.connect = try FleetTimes.seconds { () throws(BenchError) in
      made = try BareFleet(kits, command, key, port: settings.devicePort)
    }
    guard let fleet = made else { throw BenchError("no fleet") }
    let collector = try BareCollector(kits, at: site)
    let signer = try BareKey(key)
    let cpu = self.cpu
    times.publish = try FleetTimes.seconds { () throws(BenchError) in try fleet.publishState() }
    times.gather = try FleetTimes.seconds { () throws(BenchError) in try collector.gather() }
    times.recheck = try FleetTimes.seconds { () throws(BenchError) in try collector.recheck(command, signer) }
    times.cpu = self.cpu - cpu
    try fleet.end()
    return times
  }

  /// Seconds of this process, which has both ends in it, and of the broker.
  private var cpu: Double { Double(Clock.processNanoseconds) / 1e9 + ProcessReading(site.broker.pid).cpu / 1e3 }

  private func command() throws(BenchError) -> (FileKey, BareMessage) {
    do {
      let identity = try Identity(.controller, in: site.home)
      let command = try RecheckCommand(.site(site.home.site), from: identity, at: Clock.wall)
      return (identity.key, try BareMessage(command.token))
    } catch { throw BenchError("\(error)") }
  }
}
