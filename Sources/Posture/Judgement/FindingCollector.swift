/// Gathers causes and merges those that are one: a root cause is one finding, however many doors it opens.
struct FindingCollector {
  enum Level {
    case failure, doubt, info
    /// Nobody can get in: worth a look whatever the policy says.
    case lockedOut
  }

  private struct Key: Hashable {
    var code: String
    var evidence: [Place]
    /// Without evidence, the same code for two subjects is two findings.
    var subject: String
  }

  private struct Draft {
    var cause: Cause
    var checks: [CheckName]
    var subjects: [String]
    var doors: [String]
    var level: Level
  }

  private var order: [Key] = []
  private var drafts: [Key: Draft] = [:]

  mutating func add(_ cause: Cause, _ check: CheckName, door: Door, level: Level) {
    var cause = cause
    cause.evidence = cause.evidence ?? door.because.last { $0.place != nil }.flatMap(\.place).map { [$0] }
    add(cause, check, subject: door.subject, door: door.name, level: level)
  }

  mutating func add(_ cause: Cause, _ check: CheckName, subject: String, door: String? = nil, level: Level) {
    let evidence = cause.evidence ?? []
    let key = Key(code: cause.code, evidence: evidence, subject: evidence.isEmpty ? subject : "")
    if drafts[key] == nil { order.append(key) }
    var draft = drafts[key] ?? Draft(cause: cause, checks: [], subjects: [], doors: [], level: level)
    if !draft.checks.contains(check) { draft.checks.append(check) }
    if !draft.subjects.contains(subject) { draft.subjects.append(subject) }
    if let door, !draft.doors.contains(door) { draft.doors.append(door) }
    if level == .failure { draft.level = .failure }
    drafts[key] = draft
  }

  /// Whether a finding names the check.
  func names(_ check: CheckName) -> Bool { drafts.values.contains { $0.checks.contains(check) } }

  /// The findings, worst first, each with all the checks that name it.
  func findings(requiredFailure: (CheckName) -> Bool) -> [(finding: Finding, checks: [CheckName])] {
    let made = order.compactMap { drafts[$0] }.map { draft in
      (finding(draft, requiredFailure), draft.checks)
    }
    let worstFirst = [Finding.Severity.high, .medium, .info].flatMap { level in made.filter { $0.0.severity == level } }
    return worstFirst.enumerated().map { index, item in
      var (finding, checks) = item
      finding.id = "f\(index + 1)"
      return (finding, checks)
    }
  }

  private func finding(_ draft: Draft, _ requiredFailure: (CheckName) -> Bool) -> Finding {
    let severity: Finding.Severity
    switch draft.level {
    case .failure: severity = draft.checks.contains(where: requiredFailure) ? .high : .medium
    case .lockedOut: severity = .medium
    case .doubt, .info: severity = .info
    }
    return Finding(
      id: "", code: draft.cause.code, severity: severity, check: draft.checks[0],
      subject: draft.subjects.count == 1 ? draft.subjects[0] : "*",
      door: draft.doors.count == 1 ? draft.doors[0] : nil, observed: draft.cause.observed,
      evidence: draft.cause.evidence ?? [], advice: FindingCatalogue[draft.cause.code]?.advice ?? "", since: nil)
  }
}
