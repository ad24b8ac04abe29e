import Posture
import PostureTerminal

/// The command line of the bench.
enum BenchRun {
  static let usage = """
    posture-bench: figures of this build on this machine, each against a floor taken in the same run

    usage: posture-bench all | check | size | micro | keyring | verify [--agent PATH] [--runs N] [--json]
           posture-bench --version | --help

    exit status: 0 every target met, 1 one missed, 64 wrong usage, 70 a figure could not be taken
    """

  static func run(_ words: [String]) throws(UsageError) -> Int32 {
    var arguments = Arguments(words)
    guard let verb = arguments.verb() else { return try withoutVerb(&arguments) }
    let isJSON = arguments.flag("--json")
    let runs = try arguments.number("--runs", in: 1...10_000) ?? 21
    let agent = try arguments.option("--agent") ?? besideUs("posture-agent")
    try arguments.end()
    let all: [any Bench] = [
      CheckBench(agent: agent, runs: runs), SizeBench(agent: agent), MicroBench(), KeyringBench(), VerifyBench(),
    ]
    let chosen = all.filter { verb == "all" || type(of: $0).name == verb }
    guard !chosen.isEmpty else { throw UsageError("unknown bench \(verb)") }
    return show(chosen, isJSON: isJSON)
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

  /// The executable that lies in the same folder.
  private static func besideUs(_ name: String) -> String {
    let own = CommandLine.arguments[0]
    guard let slash = own.lastIndex(of: "/") else { return "/usr/bin/\(name)" }
    return own[...slash] + name
  }

  private static func show(_ benches: [any Bench], isJSON: Bool) -> Int32 {
    var status: Int32 = 0
    var table = Table("BENCH", "METRIC", "MEDIAN", "P99", "FLOOR", "RATIO", "TARGET")
    for bench in benches {
      do throws(BenchError) {
        for figure in try bench.run() {
          if isJSON { Terminal.out(figure.json.text) } else { add(figure, to: &table) }
          if figure.isMet == false { status = 1 }
        }
      } catch {
        Terminal.error("posture-bench: \(type(of: bench).name): \(error)")
        return ExitStatus.failed
      }
    }
    if !isJSON { table.lines().forEach(Terminal.out) }
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
