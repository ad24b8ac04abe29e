import Posture
import PostureFleet
import PostureMQTT
import PosturePlatform
import PostureTerminal
import PostureTokens

/// `rtt`: from the command sent to the report verified, by the agent of this machine.
struct RoundTripBench: Bench {
  static let name = "rtt"
  static let needsRoot = true
  static let question = "how long does an operator wait for a report made now"

  var programs: Programs
  var runs: Int
  var allowance = Allowance()
  /// Milliseconds between two commands: the attester signs two lines a second about commands in the long term.
  private static let pause: Int64 = 1_000
  /// Milliseconds after which no further command is sent: what has been measured until then has to do.
  private static let patience: Int64 = 240_000

  func run() throws(BenchError) -> [Figure] {
    let site = try BenchSite()
    let agent = try LocalAgent(programs, site, [JSON.Member("recheckInterval", 0)])
    defer { agent.stop() }
    let echo = try BareEcho(try DeviceKit.make(1...1, in: site.home)[0], at: site)
    let asker = try Asker(site)
    var (ours, floor, probes): ([Double], [Double], [Double]) = ([], [], [])
    let end = Clock.monotonicMilliseconds + Self.patience
    for run in 1...runs {
      let start = Clock.monotonicMilliseconds
      guard start < end else { break }
      ours.append(try asker.roundTrip())
      probes.append(try examination())
      floor += try (0..<5).map { _ throws(BenchError) in try echo.roundTrip() }
      if run % 20 == 0 { Terminal.error("rtt: \(run) of \(runs)") }
      if runs > 25 { Clock.sleep(milliseconds: max(0, start + Self.pause - Clock.monotonicMilliseconds)) }
    }
    return figures(Samples(ours), Samples(floor), Samples(probes))
  }

  /// The process that the attester starts for each report, by itself.
  private func examination() throws(BenchError) -> Double {
    guard let run = Measure.process(programs.agent, ["attest", "--examine", "--root", "/"] + Self.probes) else {
      throw BenchError("cannot start \(programs.agent)")
    }
    return run.milliseconds
  }

  private static let probes = ["--probe", "auth-policy", "--probe", "keyring"]

  private func figures(_ ours: Samples, _ floor: Samples, _ probes: Samples) -> [Figure] {
    func figure(
      _ metric: String, _ samples: Samples, floor: Double? = nil, _ target: Figure.Target? = nil
    ) -> Figure {
      Figure(bench: Self.name, metric: metric, unit: "ms", samples: samples, floor: floor, target: target)
    }
    return [
      figure("command to verified report, no limit of rate", ours),
      figure("the examination by itself", probes), figure("bare echo, two signatures, two verifications", floor),
      figure(
        "p50 beside 1.5 echoes and the examination", Samples([ours.median]),
        floor: 1.5 * floor.median + probes.median, .atMost(1 * allowance.time)),
      figure(
        "p99 beside 3 echoes and the examination", Samples([ours.p99]),
        floor: 3 * floor.median + probes.p99, ours.count >= 50 ? .atMost(1 * allowance.time) : nil),
    ]
  }
}

/// A controller that stays connected.
private final class Asker {
  private let identity: Identity
  private let link: OperatorLink
  private var fleet: Fleet
  private let party: Party

  init(_ site: BenchSite) throws(BenchError) {
    do {
      party = Party(site.home.site, LocalAgent.device)
      identity = try Identity(.controller, in: site.home)
      (fleet, link) = try Gathering.start(
        site.home, as: .controller, ["keys", "presence", "reply"].map { "d/\(LocalAgent.device)/\($0)" })
    } catch { throw BenchError("\(error)") }
  }

  /// Milliseconds.
  func roundTrip() throws(BenchError) -> Double {
    let start = Clock.monotonicNanoseconds
    do {
      let command = try RecheckCommand(.device(party), from: identity, at: Clock.wall)
      try link.publish(command.publication)
      let end = Clock.boottimeMilliseconds + 30_000
      while Clock.boottimeMilliseconds < end {
        guard case .message(let message) = link.next(1_000) else { continue }
        for said in fleet.receive(message.payload, on: message.topic, isRetained: message.retained, at: Clock.wall) {
          if case .report(let claims) = said.content, claims.nonces.contains(command.claims.nonce) {
            return Double(Clock.monotonicNanoseconds - start) / 1e6
          }
          if case .refusal(let claims) = said.content { throw BenchError("refused: \(claims.code.rawValue)") }
        }
      }
    } catch { throw error as? BenchError ?? BenchError("\(error)") }
    throw BenchError("a recheck was not answered")
  }
}
