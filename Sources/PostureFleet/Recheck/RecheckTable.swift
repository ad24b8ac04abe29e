public import Posture
import PostureTerminal

/// What became of a recheck, for people and for programs.
public struct RecheckTable {
  private let run: RecheckRun
  private let rows: [(name: Name, target: RecheckRun.Target)]

  public init(_ run: RecheckRun) {
    self.run = run
    rows = run.targets.map { ($0.key, $0.value) }.sorted { $0.name.description < $1.name.description }
  }

  public func lines(width: Int) -> [String] {
    var table = Table("DEVICE", "ANSWER", "TIME", "WHY")
    for row in rows {
      table.add(
        Table.Cell(row.name.description), Table.Cell(answer(row.target), row.target.standing?.colour ?? .yellow),
        Table.Cell(row.target.took.map { "\($0) ms" } ?? "-"), Table.Cell(why(row.target)))
    }
    return (rows.isEmpty ? [] : table.lines(width: width)) + [run.summary]
  }

  private func answer(_ target: RecheckRun.Target) -> String {
    guard case .answered(let facts) = target.outcome, let standing = target.standing else { return target.outcome.word }
    return "\(standing.text) (\(facts.policy))"
  }

  private func why(_ target: RecheckRun.Target) -> String {
    switch target.outcome {
    case .answered(let facts):
      (doubts(target, facts) + [DeviceRow.why(facts)]).filter { !$0.isEmpty }.joined(separator: "; ")
    case .refused(let code): code.rawValue
    case .unverifiable(let code): "an answer came that does not verify: \(code)"
    case .silent where target.isOffline: "not connected, by its presence"
    case .silent: run.loss == nil ? "no answer in time" : "no answer came; the connection to the broker was lost"
    case .waiting(let state): state?.rawValue ?? "no word yet"
    }
  }

  private func doubts(_ target: RecheckRun.Target, _ facts: ReportFacts) -> [String] {
    let verdict = target.standing == .verdict(facts.verdict) ? [] : ["verdict \(facts.verdict.rawValue)"]
    return target.breaches.map(\.text) + verdict
  }

  public var json: JSON {
    let counts = run.counts
    return [
      "asked": .count(counts.asked), "answered": .count(counts.answered), "refused": .count(counts.refused),
      "unverifiable": .count(counts.unverifiable), "silent": .count(counts.silent),
      "troubles": .array(run.troubles.map(JSON.string)), "devices": .array(rows.map { json($0.name, $0.target) }),
    ]
  }

  private func json(_ name: Name, _ target: RecheckRun.Target) -> JSON {
    .build { object in
      object("device", .string(name.description))
      object("outcome", .string(target.outcome.word))
      if case .answered(let facts) = target.outcome {
        object("state", .text(target.standing?.text))
        object("verdict", .string(facts.verdict.rawValue))
        object("policy", .string(facts.policy))
        object("seq", .integer(facts.seq))
        object("issued", .integer(facts.issued))
      }
      if case .refused(let code) = target.outcome { object("code", .string(code.rawValue)) }
      if case .unverifiable(let code) = target.outcome { object("code", .string(code)) }
      object("breaches", .array(target.breaches.map(\.json)))
      object("milliseconds", target.took.map(JSON.integer) ?? .null)
      object("why", .string(why(target)))
    }
  }
}
