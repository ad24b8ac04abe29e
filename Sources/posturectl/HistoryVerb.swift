import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal

/// `posturectl history`: what a device said, and when.
struct HistoryVerb: Verb {
  static let name = "history"
  static let summary = "what a device said and when, from the monitor's history"
  static let help = """
    usage: posturectl history DEVICE [--limit N] [--changes] [--json] [--history FILE | --home DIR]

    Newest first: reports and events, what the monitor noticed (a broken chain, two messages under one number, two
    machines with one key, events declared lost, messages that could not be stored), and what an operator said to it. Below
    it, which events are not in the history: the monitor was away when they came.

      --limit N       the newest N (default: 50)
      --changes       only where the verdict differs from the one before
      --history FILE  (default: monitor/history.db in the folder)
      --json          one object a line, messages with the signed original

    exit status: 0 something is known of the device, 3 nothing is
    """

  private let history: HistoryOption
  private let device: Name
  private let limit: Int
  private let onlyChanges: Bool
  private let isJSON: Bool

  init(_ arguments: inout Arguments) throws(UsageError) {
    history = try HistoryOption(&arguments)
    limit = try arguments.number("--limit", in: 1...1_000_000) ?? 50
    onlyChanges = arguments.flag("--changes")
    isJSON = arguments.flag("--json")
    let text = try arguments.rest(1...1, "the device's name")[0]
    guard let device = Name(text) else { throw UsageError("\(text): not a name") }
    self.device = device
  }

  func run() throws -> Int32 {
    let store = try SQLiteHistory.reading(history.path())
    guard try store.knows(device) else { return Posturectl.unknown(device) }
    let all = try store.records(of: device, limit: onlyChanges ? 1_000_000 : limit)
    let records = onlyChanges ? Array(changes(all).prefix(limit)) : all
    let remarks = onlyChanges ? [] : try store.remarks(of: device, limit: limit)
    var entries: [Entry] = records.map { .message($0) }
    entries += remarks.map { .remark($0) }
    entries = Array(entries.sorted { $0.at > $1.at }.prefix(limit))
    let gaps = onlyChanges ? [] : try store.gaps(of: device)
    if isJSON {
      (entries.map(\.json) + gaps.map(\.json)).forEach { Terminal.out($0.text) }
    } else {
      (table(entries).lines(width: Terminal.width) + gaps.map { Terminal.plain($0.text) }).forEach(Terminal.out)
    }
    return 0
  }

  /// A line of the history.
  private enum Entry {
    case message(HistoryRecord)
    case remark(HistoryRemark)

    var at: Int64 {
      switch self {
      case .message(let record): record.received
      case .remark(let remark): remark.at
      }
    }

    var json: JSON {
      switch self {
      case .message(let record): record.json
      case .remark(let remark): remark.json
      }
    }
  }

  private func table(_ entries: [Entry]) -> Table {
    var table = Table("RECEIVED", "WHAT", "NUMBER", "VERDICT", "MADE, OR NOTICED")
    for entry in entries {
      switch entry {
      case .message(let record):
        table.add(
          Table.Cell(Timestamp.text(record.received)), Table.Cell(record.kind == .report ? "report" : "event"),
          Table.Cell("\(record.seq)"), verdict(record), Table.Cell(Timestamp.text(record.issued)))
      case .remark(let remark):
        table.add(Table.Cell(Timestamp.text(remark.at)), "remark", "-", "-", Table.Cell(remark.text, .yellow))
      }
    }
    return table
  }

  private func verdict(_ record: HistoryRecord) -> Table.Cell {
    Table.Cell(record.verdict?.rawValue ?? "-", record.verdict.map { DeviceStatus.Standing.verdict($0).colour })
  }

  /// Newest first, as they are.
  private func changes(_ records: [HistoryRecord]) -> [HistoryRecord] {
    let reports = records.filter { $0.kind == .report }
    return zip(reports, reports.dropFirst().map { Optional($0) } + [nil]).filter { $0.verdict != $1?.verdict }.map(\.0)
  }
}
