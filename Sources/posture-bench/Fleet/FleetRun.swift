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

  func mean(with other: FleetTimes) -> FleetTimes {
    FleetTimes(
      connect: (connect + other.connect) / 2, publish: (publish + other.publish) / 2,
      gather: (gather + other.gather) / 2, recheck: (recheck + other.recheck) / 2, cpu: (cpu + other.cpu) / 2)
  }

  static func seconds<Failure>(_ body: () throws(Failure) -> Void) throws(Failure) -> Double {
    let start = Clock.monotonicNanoseconds
    try body()
    return Double(Clock.monotonicNanoseconds - start) / 1e9
  }
}

/// The product's way: simulated devices, and the recheck that `posturectl recheck --all --wait` makes.
struct FleetRun {
  let site: BenchSite
  let devices: Int
  /// One of the kind.
  let sample: DeviceKit

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
    let before = ProcessReading(site.broker.pid).pss
    let fleet = try FleetProcesses(devices, at: site, isFloor: false)
    var result = Result()
    result.times.connect = try FleetTimes.seconds { () throws(BenchError) in try fleet.tell(.connect) }
    let cpu = cpu(fleet)
    result.times.publish = try FleetTimes.seconds { () throws(BenchError) in try fleet.tell(.publish) }
    try recheck(&result)
    result.times.cpu = self.cpu(fleet) - cpu
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
    let fleet = try FleetProcesses(devices, at: site, isFloor: true)
    let collector = try BareCollector(sample, devices: devices, at: site.home)
    let signer = try BareKey(key)
    var times = FleetTimes()
    times.connect = try FleetTimes.seconds { () throws(BenchError) in try fleet.tell(.connect) }
    let cpu = cpu(fleet)
    times.publish = try FleetTimes.seconds { () throws(BenchError) in try fleet.tell(.publish) }
    times.gather = try FleetTimes.seconds { () throws(BenchError) in try collector.gather() }
    times.recheck = try FleetTimes.seconds { () throws(BenchError) in try collector.recheck(command, signer) }
    times.cpu = self.cpu(fleet) - cpu
    if let fault = fleet.fault { throw BenchError("the floor: \(fault)") }
    return times
  }

  /// Seconds of this process, the fleet's and the broker's.
  private func cpu(_ fleet: FleetProcesses) -> Double {
    Double(Clock.processNanoseconds) / 1e9 + fleet.cpu + ProcessReading.cpu(of: site.broker.pid) / 1e3
  }

  private func command() throws(BenchError) -> (FileKey, BareMessage) {
    do {
      let identity = try Identity(.controller, in: site.home)
      let command = try RecheckCommand(.site(site.home.site), from: identity, at: Clock.wall)
      return (identity.key, try BareMessage(command.token))
    } catch { throw BenchError("\(error)") }
  }
}
