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
        Table.Cell(row.name.description), Table.Cell(answer(row.target), colour(row.target.outcome)),
        Table.Cell(row.target.took.map { "\($0) ms" } ?? "-"), Table.Cell(why(row.target)))
    }
    return (rows.isEmpty ? [] : table.lines(width: width)) + [run.summary]
  }

  private func answer(_ target: RecheckRun.Target) -> String {
    if case .answered(let facts) = target.outcome { return "\(facts.verdict.rawValue) (\(facts.policy))" }
    return target.outcome.word
  }

  private func colour(_ outcome: RecheckRun.Outcome) -> Terminal.Colour {
    if case .answered(let facts) = outcome { return DeviceStatus.Standing.verdict(facts.verdict).colour }
    return .yellow
  }

  private func why(_ target: RecheckRun.Target) -> String {
    switch target.outcome {
    case .answered(let facts): DeviceRow.why(facts)
    case .refused(let code): code.rawValue
    case .unverifiable(let code): "an answer came that does not verify: \(code)"
    case .silent where target.isOffline: "not connected, by its presence"
    case .silent: run.loss == nil ? "no answer in time" : "no answer came; the connection to the broker was lost"
    case .waiting(let state): state?.rawValue ?? "no word yet"
    }
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
        object("verdict", .string(facts.verdict.rawValue))
        object("policy", .string(facts.policy))
        object("seq", .integer(facts.seq))
        object("issued", .integer(facts.issued))
      }
      if case .refused(let code) = target.outcome { object("code", .string(code.rawValue)) }
      if case .unverifiable(let code) = target.outcome { object("code", .string(code)) }
      object("milliseconds", target.took.map(JSON.integer) ?? .null)
      object("why", .string(why(target)))
    }
  }
}
