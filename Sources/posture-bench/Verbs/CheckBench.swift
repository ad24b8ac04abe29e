import Glibc
import PosturePlatform

/// `check`: the whole process `posture-agent check`, against what other auditors take on the same machine.
struct CheckBench: Bench {
  static let name = "check"
  static let question = "how long and how large is one examination of this machine"

  var agent: String
  var runs: Int

  func run() throws(BenchError) -> [Figure] {
    let ours = (0..<runs).compactMap { _ in Measure.process(agent, ["check", "--json"]) }
    guard ours.count == runs else { throw BenchError("cannot start \(agent)") }
    let floor = (0..<runs).compactMap { _ in Measure.process("/bin/true", []) }
    let wall = Samples(ours.map(\.milliseconds))
    var figures = [
      Figure(
        bench: Self.name, metric: "wall", unit: "ms", samples: wall, floor: Samples(floor.map(\.milliseconds)).median),
      Figure(bench: Self.name, metric: "cpu", unit: "ms", samples: Samples(ours.map(\.cpuMilliseconds))),
      Figure(
        bench: Self.name, metric: "peak memory", unit: "MiB", samples: Samples(ours.map { $0.peakKiB / 1024 }),
        target: .atMost(14)),
    ]
    for peer in Peer.all { figures += peer.figure(against: wall).map { [$0] } ?? [] }
    return figures
  }

  /// Another auditor that answers a like question.
  private struct Peer {
    var name: String
    var path: String
    var arguments: [String]
    /// How many times faster we have to be.
    var factor: Double

    static let all = [
      Peer(
        name: "lynis", path: "/usr/sbin/lynis",
        arguments: ["audit", "system", "--tests-from-group", "authentication", "--quick"], factor: 500),
      Peer(
        name: "openscap", path: "/usr/bin/oscap",
        arguments: [
          "xccdf", "eval", "--profile", "xccdf_org.ssgproject.content_profile_standard",
          "/usr/share/xml/scap/ssg/content/ssg-debian11-ds.xml",
        ], factor: 50),
    ]

    /// nil where it is not installed.
    func figure(against ours: Samples) -> Figure? {
      guard access(path, X_OK) == 0 else { return nil }
      let runs = (0..<3).compactMap { _ in Measure.process(path, arguments) }
      let theirs = Samples(runs.map(\.milliseconds))
      return Figure(
        bench: CheckBench.name, metric: "times faster than \(name)", unit: "x",
        samples: Samples([theirs.median / ours.median]), target: .atLeast(factor))
    }
  }
}
