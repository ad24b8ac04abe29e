import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal

/// `posturectl export`: the signed originals, for an auditor.
struct ExportVerb: Verb {
  static let name = "export"
  static let summary = "the signed originals of the history as JSON lines, to be verified again"
  static let help = """
    usage: posturectl export [--device D] [--since SECONDS] [--history FILE | --home DIR]

    One JSON object a line: device, typ, kid, seq, issued, received, verdict, token. The credentials of the devices' keys
    come first, all of them; then reports and events, oldest first. `posturectl verify` takes it as it is, on any machine
    that has the root.

      --history FILE    (default: monitor/history.db in the folder)
      --since SECONDS   reports and events received since then (seconds since the epoch)

    exit status: 0 done, 3 nothing is known of the device
    """

  private let history: HistoryOption
  private let device: Name?
  private let since: Int64

  init(_ arguments: inout Arguments) throws(UsageError) {
    history = try HistoryOption(&arguments)
    device = try arguments.name("--device")
    since = Int64(try arguments.number("--since", in: 0...Int(Int32.max) * 4) ?? 0)
    try arguments.end()
  }

  func run() throws -> Int32 {
    let store = try SQLiteHistory.reading(history.path())
    if let device, try !store.knows(device) { return Posturectl.unknown(device) }
    try store.forEach(since: since, device: device) { record in
      Terminal.out(record.json.text)
      return !Terminal.isOutputLost
    }
    return 0
  }
}
