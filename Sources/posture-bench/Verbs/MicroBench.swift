import Posture
import PostureProbes

/// `micro`: the small pieces, each against nothing but itself, to see where time goes.
struct MicroBench: Bench {
  static let name = "micro"
  static let question = "what does each small step cost"

  func run() throws(BenchError) -> [Figure] {
    guard let system = try? System() else { throw BenchError("cannot read this system") }
    var facts = AuthPolicyProbe().run(on: system)
    facts.add(KeyringProbe().run(on: system))
    let evidence = Judge.evidence(of: facts, under: .hardened)
    let text = evidence.json.bytes
    return [
      figure("judge", Measure.perCall(batch: 50) { _ = Judge.evidence(of: facts, under: .hardened) }),
      figure("JSON encode", Measure.perCall(batch: 50) { _ = evidence.json.bytes }),
      figure("JSON decode", Measure.perCall(batch: 50) { _ = try? JSONParser.parse(text, limits: .foreign) }),
    ]
  }

  private func figure(_ metric: String, _ samples: Samples) -> Figure {
    Figure(
      bench: Self.name, metric: metric, unit: "us", samples: samples.scaled(by: 1e-3))
  }
}
