import Glibc
import PostureFleet
import PosturePlatform
import PostureTerminal

/// `fleet`: very many devices, each with its own key, credential and connection, asked at once.
struct FleetBench: Bench {
  static let name = "fleet"
  static let question = "can one controller ask a whole fleet, and what does each device cost"

  /// Below this number the third of a second in which nothing more comes is most of the time, and no target is set.
  private static let many = 5_000

  var devices: Int
  /// Sizes on the way there show whether time grows with the number.
  var sizes: [Int] { Set([max(10, devices / 100), max(10, devices / 10), devices]).sorted() }
  var posturectl: String
  /// A bound that is looser where the machine is busy with other things.
  var allowance = Allowance()

  func run() throws(BenchError) -> [Figure] {
    try Limits.allow(descriptors: min(devices, 5_000) * 3 + 1_000)
    try Limits.allow(descriptors: devices + 1_000)
    let site = try BenchSite()
    let sample = try DeviceKit.make(1...1, in: site.home)[0]
    let empty = try Self.monitorMemory(posturectl, site, devices: 0)
    var figures: [Figure] = []
    var points: [(Double, Double)] = []
    for size in sizes {
      let run = FleetRun(site: site, devices: size, sample: sample)
      let before = try run.floor()
      var monitorBytes = 0
      let result = try run.product { () throws(BenchError) in
        guard size == devices else { return }
        monitorBytes = try Self.monitorMemory(posturectl, site, devices: size) - empty
      }
      // A machine that others use as well may have been quicker before than after.
      let floor = size >= Self.many ? before.mean(with: try run.floor()) : before
      points.append((Double(size), result.times.work))
      figures += times(size, result.times, floor)
      figures += answers(size, result)
      if size == devices { figures += memory(size, result.brokerBytes, monitorBytes) }
    }
    return figures + fit(points)
  }

  private static func monitorMemory(_ program: String, _ site: BenchSite, devices: Int) throws(BenchError) -> Int {
    let monitor = try MonitorProcess(program, site)
    _ = try monitor.waitForVerdicts(devices)
    return monitor.memory
  }

  private func times(_ size: Int, _ ours: FleetTimes, _ floor: FleetTimes) -> [Figure] {
    func figure(_ metric: String, _ value: KeyPath<FleetTimes, Double>, _ target: Figure.Target? = nil) -> Figure {
      Figure(
        bench: Self.name, metric: "\(size) devices: \(metric)", unit: "s",
        samples: Samples([ours[keyPath: value]]), floor: floor[keyPath: value], target: target)
    }
    return [
      figure("connect", \.connect), figure("publish", \.publish), figure("gather", \.gather),
      figure("recheck", \.recheck),
      figure("CPU time of publish, ask, collect, verify", \.cpu),
      figure("publish, ask, collect, verify", \.work, size >= Self.many ? .atMost(1.3 * allowance.time) : nil),
    ]
  }

  /// Of every device one answer that verifies, and no message that went elsewhere.
  private func answers(_ size: Int, _ result: FleetRun.Result) -> [Figure] {
    let answered = result.counts?.answered ?? 0
    let lost = size - answered
    if let fault = result.fault { Terminal.error("fleet of \(size): \(fault)") }
    return [
      Figure(
        bench: Self.name, metric: "\(size) devices: answers verified", unit: "answers",
        samples: Samples([Double(answered)]), floor: Double(size), target: .atLeast(1)),
      Figure(
        bench: Self.name, metric: "\(size) devices: answers lost or wrong", unit: "answers",
        samples: Samples([Double(lost + (result.fault == nil ? 0 : 1))]), target: .atMost(0)),
    ]
  }

  private func memory(_ size: Int, _ broker: Int, _ monitor: Int) -> [Figure] {
    [("broker", broker), ("monitor", monitor)].map { name, bytes in
      Figure(
        bench: Self.name, metric: "memory of the \(name) per device", unit: "KiB",
        samples: Samples([Double(bytes) / 1_024 / Double(size)]))
    }
  }

  /// Least squares of time over number: how much of the last point the line leaves unexplained.
  private func fit(_ points: [(Double, Double)]) -> [Figure] {
    guard let line = Line(points) else { return [] }
    let last = points[points.count - 1]
    return [
      Figure(
        bench: Self.name, metric: "fit: fixed part", unit: "s", samples: Samples([line.offset])),
      Figure(
        bench: Self.name, metric: "fit: per device", unit: "ms", samples: Samples([line.slope * 1e3])),
      Figure(
        bench: Self.name, metric: "growth: time per device beside that of \(Int(points[1].0)) devices", unit: "ms",
        samples: Samples([1e3 * last.1 / last.0]), floor: 1e3 * points[1].1 / points[1].0,
        target: .atMost(1.2 * allowance.time)),
    ]
  }
}

/// A straight line through points, by least squares.
struct Line {
  let offset: Double
  let slope: Double

  /// nil for fewer than two different places.
  init?(_ points: [(Double, Double)]) {
    let count = Double(points.count)
    let (x, y) = (points.map(\.0).reduce(0, +) / count, points.map(\.1).reduce(0, +) / count)
    let spread = points.map { ($0.0 - x) * ($0.0 - x) }.reduce(0, +)
    guard points.count > 1, spread > 0 else { return nil }
    slope = points.map { ($0.0 - x) * ($0.1 - y) }.reduce(0, +) / spread
    offset = y - slope * x
  }
}

/// What this process may use.
enum Limits {
  /// Raises the limit of open descriptors, for what is started from here too.
  static func allow(descriptors: Int) throws(BenchError) {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard Int(limit.rlim_cur) < descriptors else { return }
    limit.rlim_cur = rlim_t(descriptors)
    limit.rlim_max = max(limit.rlim_max, limit.rlim_cur)
    guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      throw BenchError("\(descriptors) descriptors are not allowed here")
    }
  }
}
