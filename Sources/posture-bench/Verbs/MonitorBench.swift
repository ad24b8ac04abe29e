import Glibc
import Posture
import PostureMQTT
import PosturePlatform
import PostureTerminal
import PostureTokens

/// `monitor`: how quickly it takes in a fleet, and what it keeps of each device.
struct MonitorBench: Bench {
  static let name = "monitor"
  static let question = "how many messages does the monitor verify, and what does a device cost it"

  var devices: Int
  var posturectl: String
  var allowance = Allowance()
  /// Stay, with the monitor up for a browser, until standard input ends.
  var holds = false
  /// Reports of each device in the live part.
  private static let rounds = 3

  func run() throws(BenchError) -> [Figure] {
    let site = try BenchSite(loads: true)
    let kits = try DeviceKit.make(1...devices, in: site.home)
    let loader = try Loader(site.loader)
    let empty = try MonitorProcess(posturectl, site)
    _ = try empty.waitForVerdicts(0)
    Clock.sleep(milliseconds: 3_000)
    let bytes = empty.memory
    try loader.publish(kits.flatMap(\.state))
    // Those that came live, before it has to find everything again.
    _ = try empty.waitForVerdicts(devices)
    empty.end()
    if holds { return try hold(site) }
    return try first(site, kits[0]) + restart(site, kits, bytes) + live(site, kits, loader)
  }

  private func hold(_ site: BenchSite) throws(BenchError) -> [Figure] {
    let monitor = try MonitorProcess(posturectl, site)
    _ = try monitor.waitForVerdicts(devices)
    Terminal.error("the page is at \(monitor.address)")
    while case let byte = getchar(), byte != EOF {}
    return []
  }

  /// Of few devices the start of the process is most of the time and of the memory.
  private var isMany: Bool { devices >= 5_000 }

  /// What is retained, the credential, the presence and the report of each, comes to a monitor that has stored none of it.
  private func first(_ site: BenchSite, _ kit: DeviceKit) throws(BenchError) -> [Figure] {
    let (taken, floor) = try Floor.around(kit) { () throws(BenchError) in
      let monitor = try MonitorProcess(posturectl, site, history: "new")
      defer { monitor.end() }
      return try monitor.waitForMessages(2 * devices)
    }
    return [ingest("a new monitor: retained messages taken in and stored", taken, floor)]
  }

  private func ingest(_ metric: String, _ seconds: Double, _ floor: Floor, _ target: Figure.Target? = nil) -> Figure {
    Figure(
      bench: Self.name, metric: metric, unit: "1/s", samples: Samples([Double(3 * devices) / seconds]),
      floor: floor.rate, target: isMany ? target : nil)
  }

  /// The same to one that has been there before.
  private func restart(_ site: BenchSite, _ kits: [DeviceKit], _ empty: Int) throws(BenchError) -> [Figure] {
    let (run, floor) = try restarts(site, kits[0])
    let report = Double(kits[0].report.utf8.count)
    let bytes = Double(run.memory - empty) / Double(devices) - report
    return [
      Figure(
        bench: Self.name, metric: "\(devices) devices: complete state after a restart", unit: "s",
        samples: Samples([run.complete]), target: .atMost(5 * allowance.time)),
      ingest("after a restart: retained messages taken in", run.taken, floor, .atLeast(0.7 / allowance.time)),
      Figure(
        bench: Self.name, metric: "bare verifications by all cores at once", unit: "1/s",
        samples: Samples([floor.together]), floor: floor.rate),
      Figure(
        bench: Self.name, metric: "CPU time of monitor and broker for each of them, beside a bare verification",
        unit: "us", samples: Samples([1e3 * run.cpu / Double(3 * devices)]), floor: floor.work),
      Figure(
        bench: Self.name, metric: "memory per device beyond its report of \(Int(report)) bytes", unit: "KiB",
        samples: Samples([bytes / 1_024]), target: isMany ? .atMost(6 * allowance.memory) : nil),
    ]
  }

  /// What one of them came to.
  private struct Restart {
    /// Seconds until everything was taken in.
    var taken: Double
    /// Seconds until it is all shown.
    var complete: Double
    /// Milliseconds of CPU time until everything was taken in.
    var cpu: Double
    /// Bytes, after a while.
    var memory: Int
  }

  /// Of three the one in the middle, as they stand to their floors: each takes two seconds, and a second of somebody else's
  /// work on the machine would be all there is to see.
  private func restarts(_ site: BenchSite, _ kit: DeviceKit) throws(BenchError) -> (Restart, Floor) {
    var runs: [(Restart, Floor)] = []
    for _ in 0..<3 { runs.append(try Floor.around(kit) { () throws(BenchError) in try restarted(site) }) }
    return runs.sorted { $0.0.taken * $0.1.rate < $1.0.taken * $1.1.rate }[1]
  }

  private func restarted(_ site: BenchSite) throws(BenchError) -> Restart {
    let broker = ProcessReading.cpu(of: site.broker.pid)
    let monitor = try MonitorProcess(posturectl, site)
    defer { monitor.end() }
    let taken = try monitor.waitForMessages(2 * devices)
    let cpu = monitor.cpu + ProcessReading.cpu(of: site.broker.pid) - broker
    let complete = try monitor.waitForVerdicts(devices)
    // It tidies up after the burst.
    Clock.sleep(milliseconds: 3_000)
    return Restart(taken: taken, complete: complete, cpu: cpu, memory: monitor.memory)
  }

  /// Reports as they come, new ones each, from a broker that is fed at the same time.
  private func live(_ site: BenchSite, _ kits: [DeviceKit], _ loader: Loader) throws(BenchError) -> [Figure] {
    var reports: [Publication] = []
    for round in 1...Self.rounds {
      for kit in kits { reports.append(try Self.report(of: kit, number: Int64(round + 1))) }
    }
    let (seconds, floor) = try Floor.around(kits[0]) { () throws(BenchError) in
      let monitor = try MonitorProcess(posturectl, site)
      defer { monitor.end() }
      _ = try monitor.waitForVerdicts(devices)
      let before = monitor.verified
      let start = Clock.monotonicNanoseconds
      try loader.publish(reports)
      _ = try monitor.waitForMessages(before + reports.count)
      return Double(Clock.monotonicNanoseconds - start) / 1e9
    }
    return [
      Figure(
        bench: Self.name, metric: "live reports taken in, the sender on the same cores", unit: "1/s",
        samples: Samples([Double(reports.count) / seconds]), floor: floor.rate)
    ]
  }

  private static func report(of kit: DeviceKit, number: Int64) throws(BenchError) -> Publication {
    var claims = kit.claims
    claims.sequence = number
    do throws(KeyError) {
      let token = try TokenEncoder.encode(.report, claims.claims, with: kit.key)
      return kit.publication(Topic.Place.report, .report, token)
    } catch { throw BenchError(error.description) }
  }

}

/// The bare verification of a report's signature.
private struct Floor {
  /// That one core does in a second, times the cores.
  var rate: Double
  /// That all of them do in a second. Two cores of a virtual machine seldom do twice the work of one, and where they are
  /// two threads of one core not by far: no more than this could be taken in by a monitor that does nothing else.
  var together: Double
  /// Microseconds of CPU time for each.
  var work: Double

  private init(_ kit: DeviceKit) throws(BenchError) {
    let key = try BareKey(kit.key)
    let message = try BareMessage(kit.report)
    var calls = 0
    let start = Clock.processNanoseconds
    let times = Measure.perCall(batch: 200) {
      calls += 1
      key.verify(message)
    }
    let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    rate = 1e9 / times.median * Double(cores)
    work = Double(Clock.processNanoseconds - start) / 1e3 / Double(calls)
    together = try Self.together(cores, message, kit.key)
  }

  private static func together(_ cores: Int, _ message: BareMessage, _ key: FileKey) throws(BenchError) -> Double {
    let each = 3_000
    let start = Clock.monotonicNanoseconds
    do throws(SystemError) {
      try Together.run(cores) { _ in
        guard let key = try? BareKey(key) else { return }
        for _ in 0..<each { key.verify(message) }
      }
    } catch { throw BenchError("\(error)") }
    return 1e9 * Double(cores * each) / Double(Clock.monotonicNanoseconds - start)
  }

  /// The mean of before and after: a machine that others use as well is not always equally quick.
  static func around<Value>(
    _ kit: DeviceKit, _ body: () throws(BenchError) -> Value
  ) throws(BenchError) -> (Value, Floor) {
    var floor = try Floor(kit)
    let value = try body()
    let after = try Floor(kit)
    (floor.rate, floor.work) = ((floor.rate + after.rate) / 2, (floor.work + after.work) / 2)
    floor.together = (floor.together + after.together) / 2
    return (value, floor)
  }
}

/// Publishes anything for anybody, without TLS: the sender is not what is measured.
private final class Loader {
  private let client: Client
  private let inbox: Inbox

  init(_ server: Client.Server) throws(BenchError) {
    var settings = Client.Settings(server)
    settings.session.queueCap = 1 << 20
    settings.session.answerTimeout = 120_000
    do throws(SystemError) {
      inbox = try Inbox()
      client = try Client(settings, inbox: inbox)
    } catch { throw BenchError("\(error)") }
  }

  deinit { client.stop() }

  /// Waits until the broker has them all.
  func publish(_ publications: [Publication]) throws(BenchError) {
    publications.forEach { client.publish($0) }
    let end = Clock.boottimeMilliseconds + 240_000
    var left = publications.count
    while left > 0 {
      switch inbox.next(max(0, end - Clock.boottimeMilliseconds)) {
      case .completed(_, .taken): left -= 1
      case .completed(_, let outcome): throw BenchError("the broker did not take a message: \(outcome)")
      case .offline(let loss, _): throw BenchError("the loader lost the broker: \(loss)")
      case nil: throw BenchError("the broker did not take \(left) messages in time")
      default: continue
      }
    }
  }
}
