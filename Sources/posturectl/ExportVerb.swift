import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal

/// `posturectl export`: the signed originals, for an auditor.
struct ExportVerb: Verb {
  static let name = "export"
  static let summary = "the signed originals of the history as JSON lines, to be verified again"
  static let help = """
    usage: posturectl export [--device D] [--since SECONDS] [--history FILE] [--home DIR]

    One JSON object a line, oldest first: device, typ, kid, seq, issued, received, verdict, token. `posturectl verify`
    takes it as it is.

      --since SECONDS   received since then (seconds since the epoch)
    """

  private let home: HomeOption
  private let history: String?
  private let device: Name?
  private let since: Int64

  init(_ arguments: inout Arguments) throws(UsageError) {
    home = try HomeOption(&arguments)
    history = try arguments.option("--history")
    device = try arguments.name("--device")
    since = Int64(try arguments.number("--since", in: 0...Int(Int32.max) * 4) ?? 0)
    try arguments.end()
  }

  func run() throws -> Int32 {
    let store = try SQLiteHistory.existing(history ?? home.open().path(Home.File.history))
    try store.forEach(since: since, device: device) { record in
      Terminal.out(record.json.text)
      return !Terminal.isOutputLost
    }
    return 0
  }
}
