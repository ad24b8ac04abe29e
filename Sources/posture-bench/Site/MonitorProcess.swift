import Glibc
import Posture
import PostureFleet
import PosturePlatform

/// `posturectl monitor` as it is run, on a site of the bench.
final class MonitorProcess {
  private let port: UInt16
  private let child: Child
  /// Nanoseconds of the clock that only goes forward.
  private let started = Clock.monotonicNanoseconds

  /// `history`: a name; one that ran before under the same is continued.
  init(_ posturectl: String, _ site: BenchSite, history: String = "history") throws(BenchError) {
    do throws(SystemError) { port = try ListenAddress(host: "127.0.0.1", port: 0).listen().port } catch {
      throw BenchError("\(error)")
    }
    child = try Child(
      posturectl,
      [
        "monitor", "--home", site.home.folder, "--listen", "127.0.0.1:\(port)", "--history",
        site.folder.file("\(history).db"),
      ], log: site.folder.file("monitor.log"))
  }

  deinit { end() }

  func end() { child.crash() }

  var address: String { "http://127.0.0.1:\(port)/" }

  /// Bytes.
  var memory: Int { ProcessReading(child.pid).pss }

  /// Milliseconds.
  var cpu: Double { ProcessReading.cpu(of: child.pid) }

  private var age: Double { Double(Clock.monotonicNanoseconds - started) / 1e9 }

  /// Waits until it shows a verdict for each of so many devices; seconds since it was started.
  func waitForVerdicts(_ devices: Int) throws(BenchError) -> Double {
    try wait("verdicts") { verdicts == devices ? 1 : 0 }
    return age
  }

  /// Waits until it has verified so many messages; seconds since it was started.
  func waitForMessages(_ count: Int) throws(BenchError) -> Double {
    try wait("messages") { Double(verified) / Double(max(1, count)) }
    return age
  }

  /// Waits until `share` is 1. Asking costs the monitor time that it would rather have for its messages, so it is asked
  /// seldom until the end is near.
  private func wait(_ what: String, _ share: () -> Double) throws(BenchError) {
    while case let done = share(), done < 1 {
      guard child.isRunning, age < 240 else {
        throw BenchError("the monitor did not come to its \(what): \(verified) verified, verdicts of \(verdicts ?? 0)")
      }
      Clock.sleep(milliseconds: done < 0.85 ? 200 : 20)
    }
  }

  /// nil while it does not answer.
  private var fleet: JSON? {
    HTTPFetch.body(port: port, "/api/v1/fleet").flatMap { try? JSONParser.parse($0, limits: .foreign) }
  }

  /// nil while anything keeps verdicts from counting.
  private var verdicts: Int? {
    guard let fleet, fleet["notices"]?.array?.isEmpty == true else { return nil }
    return Verdict.allCases.map { Int(fleet["counts"]?[$0.rawValue]?.integer ?? 0) }.reduce(0, +)
  }

  /// Messages of devices that it has verified.
  var verified: Int { Int(fleet?["verified"]?.integer ?? 0) }
}
