public import Posture

/// One device as a line of a table: the same for terminal, page and JSON.
public struct DeviceRow: Hashable, Sendable {
  public var name: String
  public var groups: [String]
  public var standing: DeviceStatus.Standing
  public var conditions: [Condition]
  /// Of the last report, whatever it is worth.
  public var verdict: Verdict?
  public var policy: String?
  public var policyDigest: String?
  /// When the verdict changed to what it is, in seconds since the epoch; nil where that was not seen.
  public var since: Int64?
  /// The first time that the verdict is known to have been the same.
  public var knownSince: Int64?
  /// Seconds.
  public var age: Int64?
  /// nil: not known.
  public var isOnline: Bool?
  public var why: String
  /// Codes of its findings of severity high.
  public var codes: [String]
  /// The policy that was published for it and that it is not on yet.
  public var duePolicy: String?

  public init(_ device: DeviceState, _ status: DeviceStatus) {
    name = device.name.description
    groups = device.groups
    standing = status.standing
    conditions = status.conditions
    verdict = status.verdict
    policy = device.report?.policy
    policyDigest = device.report?.policyDigest
    since = device.verdictStart?.changed
    knownSince = device.verdictStart?.known
    age = status.age
    isOnline = device.isOnline
    why = Self.why(device, status)
    codes = device.report?.findings.filter { $0.severity == .high }.map(\.code) ?? []
  }

  /// How long the verdict has been the same: `5m`, or at least that: `≥5m`.
  func span(at now: Int64) -> String? {
    since.map { Span.text(now - $0) } ?? knownSince.map { "≥" + Span.text(now - $0) }
  }

  /// What a person has to know first: the conditions in words, then the worst finding or what is not known, then what was
  /// not required.
  private static func why(_ device: DeviceState, _ status: DeviceStatus) -> String {
    let conditions = status.conditions.map { explain($0, of: device) }
    guard let report = device.report else { return conditions.joined(separator: "; ") }
    let last = conditions.isEmpty ? [] : ["last verdict \(report.verdict.rawValue)"]
    let declared = device.declared.map { [$0] } ?? []
    return (conditions + last + [why(report)] + declared).filter { !$0.isEmpty }.joined(separator: "; ")
  }

  /// The worst findings of a report, what keeps it from a verdict, and what failed without being required.
  static func why(_ report: ReportFacts) -> String {
    let worst = report.findings.filter { $0.severity == .high }.map(\.words)
    return (first(worst) + first(report.unanswered) + waived(report)).joined(separator: "; ")
  }

  private static func explain(_ condition: Condition, of device: DeviceState) -> String {
    switch condition {
    case .unverifiable: device.badReport.map { "report refused: \($0.code)" } ?? "credential expired"
    case .chainBroken: device.chainTrouble
    case .silent: device.report == nil ? "never reported" : "nothing heard"
    case .cloned: "two machines use this key"
    case .equivocation: OpenBreach.equivocation.text
    case .revoked: "key revoked"
    case .awaitingKey: "credential not known yet"
    case .trustStale: "trust document or list of revoked keys expired or missing"
    case .stale: device.isOutdated ? "the history holds a newer report" : "report past its time"
    case .ageUnproven: "report of unknown age"
    }
  }

  private static func first(_ reasons: [String]) -> [String] {
    reasons.prefix(2) + (reasons.count > 2 ? ["\(reasons.count - 2) more"] : [])
  }

  private static func waived(_ report: ReportFacts) -> [String] {
    let waived = report.results.filter { !$0.isRequired && $0.result == .fail }.map { "\($0.check.rawValue) fail" }
    return waived.isEmpty ? [] : ["not required: " + waived.joined(separator: ", ")]
  }

  public var json: JSON {
    .build { object in
      object("device", .string(name))
      object("groups", .array(groups.map(JSON.string)))
      object("state", .string(standing.text))
      object("conditions", .array(conditions.map { .string($0.rawValue) }))
      object("verdict", .text(verdict?.rawValue))
      object("policy", .text(policy))
      object("policyDigest", .text(policyDigest))
      object("duePolicy", .text(duePolicy))
      object("since", since.map(JSON.integer) ?? .null)
      object("knownSince", knownSince.map(JSON.integer) ?? .null)
      object("age", age.map(JSON.integer) ?? .null)
      object("online", isOnline.map(JSON.bool) ?? .null)
      object("why", .string(why))
    }
  }
}

/// Which rows are shown, and in which order.
public struct RowSelection: Hashable, Sendable {
  public enum Order: String, Sendable, CaseIterable {
    /// Worst first.
    case state
    case name
    /// Oldest report first.
    case age
    /// Latest change first.
    case since
  }

  public var order = Order.state
  /// Standings by their text; empty: all.
  public var states: Set<String> = []
  public var group: String?
  /// A part of the name or of the reasons, whatever the case.
  public var text: String?

  public init() {}

  public func apply(to rows: [DeviceRow]) -> [DeviceRow] { places(in: rows).map { rows[$0] } }

  /// The places of the rows that are shown, in order: a row is large, and a fleet has many.
  public func places(in rows: [DeviceRow]) -> [Int] {
    let text = text?.lowercased() ?? ""
    let chosen = rows.indices.filter { includes(rows[$0], text) }
    let keys = rows.map(key)
    return chosen.sorted { a, b in keys[a] == keys[b] ? rows[a].name < rows[b].name : keys[a] < keys[b] }
  }

  /// `text` in lower case.
  private func includes(_ row: DeviceRow, _ text: String) -> Bool {
    let isState =
      states.isEmpty || states.contains(row.standing.text)
      || row.conditions.contains { states.contains($0.rawValue) }
    let isGroup = group.map(row.groups.contains) ?? true
    return isState && isGroup && (text.isEmpty || "\(row.name) \(row.why)".lowercased().contains(text))
  }

  private func key(_ row: DeviceRow) -> Int64 {
    switch order {
    case .state: Int64(row.standing.rank)
    case .name: 0
    case .age: -(row.age ?? .max)
    case .since: -(row.since ?? 0)
    }
  }
}

extension DeviceStatus.Standing {
  /// Worst first: fail, then the conditions, then unknown, and pass last.
  var rank: Int {
    switch self {
    case .verdict(.fail): 0
    case .condition(let condition): 1 + Condition.allCases.firstIndex(of: condition)!
    case .verdict(.unknown): 100
    case .verdict(.pass): 101
    }
  }
}
