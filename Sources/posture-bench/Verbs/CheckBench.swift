import Glibc
import Posture
import PosturePlatform
import PostureProbes

/// `check`: the whole process `posture-agent check`, against what other auditors take on the same machine.
struct CheckBench: Bench {
  static let name = "check"
  static let question = "how long and how large is one examination of this machine"

  var agent: String
  var runs: Int
  /// The root of another system besides.
  var tree: String?
  /// The others take seconds.
  var withPeers = true
  var allowance = Allowance()

  func run() throws(BenchError) -> [Figure] {
    let start = try repeated(["--version"])
    let ours = try repeated(["check", "--json"])
    let wall = Samples(ours.map(\.milliseconds))
    var figures = [
      // Of seven starts on a busy machine only the CPU time says anything.
      figure("from start to end of --version", "ms", start.map(\.milliseconds), withPeers ? .atMost(5) : nil),
      figure("the same: cpu", "ms", start.map(\.cpuMilliseconds), .atMost(5 * allowance.time)),
      figure("this machine: wall", "ms", ours.map(\.milliseconds)),
      figure("this machine: cpu", "ms", ours.map(\.cpuMilliseconds)),
      try peak("this machine", ["check", "--json"]),
    ]
    if let tree {
      let there = try repeated(["check", "--json", "--root", tree])
      figures.append(figure("\(tree): wall", "ms", there.map(\.milliseconds)))
      figures.append(try peak(tree, ["check", "--json", "--root", tree]))
    }
    var breakdown = Breakdown()
    figures += try breakdown.figures(runs)
    if withPeers { for peer in Peer.all { figures += peer.figure(against: wall).map { [$0] } ?? [] } }
    return figures
  }

  private func figure(_ metric: String, _ unit: String, _ values: [Double], _ target: Figure.Target? = nil) -> Figure {
    Figure(bench: Self.name, metric: metric, unit: unit, samples: Samples(values), target: target)
  }

  private func peak(_ what: String, _ arguments: [String]) throws(BenchError) -> Figure {
    let peaks = (0..<runs).compactMap { _ in Measure.peak(agent, arguments) }
    guard peaks.count == runs else { throw BenchError("cannot start \(agent)") }
    return figure(
      "\(what): peak memory", "MiB", peaks.map { Double($0) / Double(1 << 20) }, .atMost(14 * allowance.memory))
  }

  private func repeated(_ arguments: [String]) throws(BenchError) -> [Measure.Run] {
    let done = (0..<runs).compactMap { _ in Measure.process(agent, arguments) }
    guard done.count == runs else { throw BenchError("cannot start \(agent)") }
    return done
  }

  /// Where the time of an examination goes.
  private struct Breakdown {
    private var parts: [(name: String, values: [Double])] = []

    mutating func figures(_ runs: Int) throws(BenchError) -> [Figure] {
      for _ in 0..<runs {
        let system: System
        do throws(SystemError) { system = try System() } catch { throw BenchError("\(error)") }
        let facts = system.sharing {
          var facts = time("accounts, doors, rules") { AuthPolicyProbe().run(on: system) }
          facts.add(time("keyrings and volumes") { KeyringProbe().run(on: system) })
          return facts
        }
        let evidence = time("judgement") { Judge.evidence(of: facts, under: .entry) }
        _ = time("JSON") { evidence.json.text }
      }
      return parts.map {
        Figure(bench: CheckBench.name, metric: "of it: \($0.name)", unit: "ms", samples: Samples($0.values))
      }
    }

    private mutating func time<Result>(_ name: String, _ body: () -> Result) -> Result {
      let start = Clock.monotonicNanoseconds
      let result = body()
      let took = Double(Clock.monotonicNanoseconds - start) / 1e6
      if let at = parts.firstIndex(where: { $0.name == name }) {
        parts[at].values.append(took)
      } else {
        parts.append((name, [took]))
      }
      return result
    }
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
