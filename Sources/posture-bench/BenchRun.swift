import Glibc
import Posture
import PostureTerminal

/// The command line of the bench.
enum BenchRun {
  static let usage = """
    posture-bench: figures of this build on this machine, each against a floor taken in the same run

    usage: posture-bench all | VERB [options]
           posture-bench --version | --help

      rtt       from a recheck sent to its report verified, by the agent of this machine (root)
      check     one examination, beside Lynis and OpenSCAP where they are installed
      verify    strict decoding beside the bare signature
      idle      the agent while nothing happens (root)
      fleet     simulated devices, each with a connection of its own, asked at once
      monitor   how quickly posturectl monitor takes a fleet in, and what a device costs it
      size      what a device has to carry
      micro     small steps
      keyring   the probes of keyrings and volumes

      --devices N     of fleet and monitor (default: 10000)
      --seconds S     of idleness (default: 300)
      --runs N        (default: 21, of rtt 60)
      --tree DIR      for check: another system besides
      --hold          for monitor: measure nothing, and keep the monitor up until standard input ends
      --short         less of everything, in about a minute; a target counts as met within twice its bound, of memory
                      within 1.1 times
      --programs DIR  where posture-agent and posturectl are (default: beside this program)
      --json          one JSON object a line

    exit status: 0 every target met, 1 one missed, 64 wrong usage, 70 a figure could not be taken
    """

  static func run(_ words: [String]) throws(UsageError) -> Int32 {
    var arguments = Arguments(words)
    guard let verb = arguments.verb() else { return try withoutVerb(&arguments) }
    if verb == FleetShare.verb { return try FleetShare.run(&arguments) }
    let isJSON = arguments.flag("--json")
    let plan = try Plan(&arguments)
    try arguments.end()
    let chosen = plan.benches.filter { verb == "all" || type(of: $0).name == verb }
    guard !chosen.isEmpty else { throw UsageError("unknown bench \(verb)") }
    return show(chosen, isJSON: isJSON)
  }

  /// What is measured, and how much of it.
  private struct Plan {
    private let isShort: Bool
    private let devices: Int
    private let seconds: Int
    private let runs: Int?
    private let tree: String?
    private let holds: Bool
    private let programs: Programs
    init(_ arguments: inout Arguments) throws(UsageError) {
      isShort = arguments.flag("--short")
      devices = try arguments.number("--devices", in: 10...100_000) ?? (isShort ? 200 : 10_000)
      seconds = try arguments.number("--seconds", in: 2...86_400) ?? (isShort ? 5 : 300)
      runs = try arguments.number("--runs", in: 1...10_000)
      holds = arguments.flag("--hold")
      tree = try arguments.option("--tree")
      let folder = try arguments.option("--programs") ?? Self.ownFolder
      programs = Programs(agent: "\(folder)/posture-agent", posturectl: "\(folder)/posturectl")
    }

    /// Of this executable.
    private static var ownFolder: String {
      let own = CommandLine.arguments[0]
      return own.lastIndex(of: "/").map { String(own[..<$0]) } ?? "/usr/bin"
    }

    var benches: [any Bench] {
      let allowance = isShort ? Allowance.short : Allowance()
      let few = runs ?? (isShort ? 7 : 21)
      return [
        RoundTripBench(programs: programs, runs: runs ?? (isShort ? 15 : 60), allowance: allowance),
        CheckBench(agent: programs.agent, runs: few, tree: tree, withPeers: !isShort, allowance: allowance),
        VerifyBench(allowance: allowance),
        IdleBench(programs: programs, seconds: seconds, allowance: allowance),
        FleetBench(devices: devices, posturectl: programs.posturectl, allowance: allowance),
        MonitorBench(devices: devices, posturectl: programs.posturectl, allowance: allowance, holds: holds),
        SizeBench(agent: programs.agent), MicroBench(), KeyringBench(),
      ]
    }
  }

  private static func withoutVerb(_ arguments: inout Arguments) throws(UsageError) -> Int32 {
    if arguments.flag("--version") {
      Terminal.out("posture-bench \(Release.version)")
    } else if arguments.flag("--help", "-h") {
      Terminal.out(usage)
    } else {
      throw UsageError("a bench is missing")
    }
    try arguments.end()
    return 0
  }

  /// A bench that cannot be done does not keep the others from it.
  private static func show(_ benches: [any Bench], isJSON: Bool) -> Int32 {
    var status: Int32 = 0
    var table = Table("BENCH", "METRIC", "MEDIAN", "P99", "FLOOR", "RATIO", "TARGET")
    for bench in benches {
      if benches.count > 1, type(of: bench).needsRoot, geteuid() != 0 {
        Terminal.error("skipped: \(type(of: bench).name) needs root")
        continue
      }
      do throws(BenchError) {
        for figure in try bench.run() {
          if isJSON { Terminal.out(figure.json.text) } else { add(figure, to: &table) }
          if figure.isMet == false { status = max(status, 1) }
        }
      } catch {
        Terminal.error("posture-bench: \(type(of: bench).name): \(error)")
        status = ExitStatus.failed
      }
    }
    // A figure stays on its line, in a log as well.
    if !isJSON { table.lines(width: .max).forEach(Terminal.out) }
    return status
  }

  private static func add(_ figure: Figure, to table: inout Table) {
    let verdict = figure.isMet.map { $0 ? "met" : "MISSED" } ?? ""
    table.add(
      Table.Cell(figure.bench), Table.Cell(figure.metric), Table.Cell("\(short(figure.samples.median)) \(figure.unit)"),
      Table.Cell(short(figure.samples.p99)), Table.Cell(figure.floor.map(short) ?? ""),
      Table.Cell(figure.ratio.map(short) ?? ""),
      Table.Cell("\(figure.target?.text ?? "") \(verdict)", figure.isMet == false ? .red : nil))
  }
}
