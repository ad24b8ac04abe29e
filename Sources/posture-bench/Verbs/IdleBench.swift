import Glibc
import Posture
import PostureFleet
import PosturePlatform

/// `idle`: what the agent takes while nothing happens.
struct IdleBench: Bench {
  static let name = "idle"
  static let needsRoot = true
  static let question = "what does the agent cost a device while nothing happens"

  var programs: Programs
  /// Of idleness before the reading; the wake-ups are those of as many whole keepalives at its end as leave half a minute
  /// to settle.
  var seconds: Int
  var allowance = Allowance()
  private static let settling = 30

  func run() throws(BenchError) -> [Figure] {
    let site = try BenchSite()
    let agent = try LocalAgent(programs, site)
    defer { agent.stop() }
    let keepalive = AgentConfiguration().keepalive
    let whole = (seconds - Self.settling) / keepalive * keepalive
    let window = whole > 0 ? whole : seconds - min(Self.settling, seconds / 2)
    Clock.sleep(milliseconds: Int64(seconds - window) * 1_000)
    let (before, wire) = (ProcessReading(agent.family), try Wire(site))
    Clock.sleep(milliseconds: Int64(window) * 1_000)
    let after = ProcessReading(agent.family)
    let report = try Self.reportSize(site)
    return figures(before, after, try Wire(site), since: wire, Double(window), report)
  }

  private func figures(
    _ before: ProcessReading, _ after: ProcessReading, _ wire: Wire, since: Wire, _ window: Double, _ report: Int
  ) -> [Figure] {
    func figure(_ metric: String, _ value: Double, _ unit: String, _ target: Figure.Target? = nil) -> Figure {
      Figure(bench: Self.name, metric: metric, unit: unit, samples: Samples([value]), target: target)
    }
    let configuration = AgentConfiguration()
    let keepalives = window / Double(configuration.keepalive)
    let perHour = 3_600 / window
    let reports = 3_600 / Double(configuration.period)
    var figures = [
      figure("memory (PSS) of courier and attester", Double(after.pss) / 1e6, "MB", .atMost(12 * allowance.memory)),
      figure(
        "memory that is theirs alone (private dirty)", Double(after.privateDirty) / 1e6, "MB",
        .atMost(5 * allowance.memory)),
      figure("CPU per hour", (after.cpu - before.cpu) * perHour, "ms"),
      figure("open descriptors", Double(after.descriptors), ""),
      figure(
        "bytes on the wire per hour, one report of \(report) bytes among them",
        Double(wire.bytes - since.bytes) * perHour + Double(report) * reports, "B"),
    ]
    if keepalives >= 1 {
      figures.append(
        figure(
          "wake-ups per keepalive", Double(after.wakeUps - before.wakeUps) / keepalives, "", .atMost(2 * allowance.time)
        ))
    }
    return figures
  }

  private static func reportSize(_ site: BenchSite) throws(BenchError) -> Int {
    do {
      let (fleet, link) = try Gathering.start(site.home, as: .monitor, Gathering.filters(of: LocalAgent.device))
      link.close()
      return fleet.report(of: LocalAgent.device)?.count ?? 0
    } catch { throw BenchError("\(error)") }
  }

  /// Bytes of the device's connection by the kernel's own count, with the headers of IP and TCP.
  private struct Wire {
    /// IPv4 and TCP with time stamps.
    private static let headers = 52
    var bytes = 0

    init(_ site: BenchSite) throws(BenchError) {
      let port = site.home.settings.devicePort
      guard let output = try? Command("/usr/bin/ss", ["-tinH", "state", "established", "dport = :\(port)"]).run() else {
        throw BenchError("ss does not run: install iproute2")
      }
      let text = String(decoding: output.out, as: UTF8.self)
      var counts: [Substring: Int] = [:]
      for word in text.split(whereSeparator: { $0 == " " || $0 == "\n" || $0 == "\t" }) {
        let parts = word.split(separator: ":")
        if parts.count == 2, let number = Int(parts[1]) { counts[parts[0]] = number }
      }
      guard let sent = counts["bytes_sent"], let received = counts["bytes_received"], let out = counts["segs_out"],
        let into = counts["segs_in"]
      else { throw BenchError("ss says nothing of the device's connection: \(text)") }
      bytes = sent + received + (out + into) * Self.headers
    }
  }
}
