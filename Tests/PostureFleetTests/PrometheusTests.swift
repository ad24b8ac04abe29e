import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

private let prometheusProgram = "/usr/bin/prometheus"

/// A real Prometheus scrapes the monitor, by the configuration and the rules that are shipped.
@Suite(.serialized, .enabled(if: Long.isWanted && Broker.isInstalled && access(prometheusProgram, X_OK) == 0))
struct PrometheusTests {
  /// Prometheus on a free port, with a folder of its own; everything in seconds instead of minutes.
  private final class Prometheus {
    private let process: RunningProcess
    private let address: String

    init(_ monitor: LiveMonitor, token: String, in folder: Folder) throws {
      let port = try Loopback.freePort()
      address = "http://127.0.0.1:\(port)"
      let shipped = String(
        decoding: try AtomicFile.readAny(Repository.path("deploy/monitoring/prometheus.yml")), as: UTF8.self)
      let rules = String(
        decoding: try AtomicFile.readAny(Repository.path("deploy/monitoring/posture.rules.yml")), as: UTF8.self)
      try folder.write("posture.rules.yml", rules)
      try folder.write("prometheus.token", token)
      let target = monitor.address.split(separator: "/").last.map(String.init) ?? ""
      let configuration =
        "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
        + shipped.replacing("127.0.0.1:8470", with: target).replacing(
          "scrape_interval: 30s", with: "scrape_interval: 1s"
        )
        .replacing(
          "# authorization: {credentials_file: /etc/prometheus/posture.token}",
          with: "authorization: {credentials_file: \(folder.file("prometheus.token"))}")
      try folder.write("prometheus.yml", configuration)
      process = try RunningProcess(
        prometheusProgram,
        [
          "--config.file=\(folder.file("prometheus.yml"))", "--storage.tsdb.path=\(folder.file("tsdb"))",
          "--web.listen-address=127.0.0.1:\(port)",
        ], log: folder.file("prometheus.log"))
      for _ in 0..<2_000 where !Loopback.isOpen(port) { usleep(10_000) }
    }

    deinit { process.stop() }

    func get(_ path: String) throws -> JSON {
      var command = Command("/usr/bin/curl", ["-s", "-g", "-m", "10", address + path])
      command.timeout = 15_000
      return try JSONParser.parse(String(decoding: try command.run().out, as: UTF8.self), limits: .foreign)["data"]
        ?? .null
    }

    /// The values of a query by one of its labels; asked until there are any.
    func values(_ query: String, by label: String) throws -> [String: String] {
      for _ in 0..<200 {
        let result = (try? get("/api/v1/query?query=\(query)"))?["result"]?.array ?? []
        if !result.isEmpty {
          return Dictionary(
            result.map { ($0["metric"]?[label]?.string ?? "", $0["value"]?.array?.last?.string ?? "") },
            uniquingKeysWith: { $1 })
        }
        usleep(100_000)
      }
      return [:]
    }
  }

  @Test func `a real Prometheus takes the metrics, with the token, and its alerts wait`() throws {
    let site = try LiveSite()
    let devices = try ["edge-1", "edge-2"].map { try site.device($0) }
    devices[0].change { $0 = .open }
    devices[1].change { $0 = .healthy }
    for device in devices { try device.start() }
    let token = "a-token-that-is-long-enough"
    let monitor = try LiveMonitor(site, "--token-file", try site.folder.write("token", token))
    usleep(2_000_000)
    let prometheus = try Prometheus(monitor, token: token, in: site.folder)

    #expect(try prometheus.values("posture_device_pass", by: "device") == ["edge-1": "0", "edge-2": "1"])
    #expect(try prometheus.values("posture_device_state", by: "state") == ["fail": "1"])
    #expect(try prometheus.values("posture_findings", by: "code")["openEntry"] == "1")
    #expect(try prometheus.values("up", by: "job") == ["posture": "1"])
    let states = try prometheus.values("posture_devices", by: "state")
    #expect(states["pass"] == "1" && states["fail"] == "1" && states["cloned"] == "0")
    let target = try prometheus.get("/api/v1/targets")["activeTargets"]?.array?.first
    #expect(target?["health"]?.string == "up" && target?["lastError"]?.string == "")
    // Types come with OpenMetrics, which Prometheus asks for first.
    let types = try prometheus.get("/api/v1/metadata?metric=posture_messages")
    #expect(types["posture_messages"]?.array?.first?["type"]?.string == "counter")

    let rules = try prometheus.get("/api/v1/rules")["groups"]?.array?.first?["rules"]?.array ?? []
    #expect(rules.count >= 11)
    #expect(rules.allSatisfy { $0["health"]?.string == "ok" || $0["health"]?.string == "unknown" })
    // The site's trust document ends within days. At the very first evaluation there was no monitor yet.
    var waiting = Set<String>()
    for _ in 0..<100 where waiting != ["PostureDeviceFails", "PostureTrustEnding"] {
      waiting = Set(
        (try prometheus.get("/api/v1/alerts")["alerts"]?.array ?? []).compactMap {
          $0["labels"]?["alertname"]?.string
        })
      usleep(100_000)
    }
    #expect(waiting == ["PostureDeviceFails", "PostureTrustEnding"])

    // A monitor that is gone is a target that is down.
    _ = monitor.stop()
    var up = "1"
    for _ in 0..<100 where up != "0" {
      up = try prometheus.values("up", by: "job")["posture"] ?? ""
      usleep(100_000)
    }
    #expect(up == "0")
    devices.forEach { $0.stop() }
  }
}
