/// The evidence as a report carries it: rows that differ in their subject alone are one, and what does not fit is left
/// out and counted.
public enum EvidenceClaim {
  /// Bytes of JSON.
  public static let limit = 32_768

  public static func json(of evidence: Evidence, limit: Int = Self.limit) -> JSON {
    var parts = Parts(evidence)
    if parts.json.bytes.count < limit { return parts.json }
    parts.dropUninteresting()
    while parts.json.bytes.count >= limit, parts.dropHalf() {}
    return parts.json
  }

  private struct Parts {
    let evidence: Evidence
    var subjects: [JSON]
    var doors: [Door]
    var findings: [Finding]
    var lost = (subjects: 0, doors: 0, findings: 0)

    init(_ evidence: Evidence) {
      self.evidence = evidence
      subjects = evidence.subjects.map(\.json)
      doors = evidence.doors
      findings = evidence.findings
    }

    var json: JSON {
      .build { object in
        object("schema", .string(Evidence.schema))
        object("policy", .string(evidence.policy))
        object("verdict", .string(evidence.verdict.rawValue))
        object("checks", .array(checks))
        object("subjects", .array(EvidenceClaim.grouped(subjects, by: "name", "uid")))
        object("doors", .array(EvidenceClaim.grouped(doors.map(\.json), by: "subject")))
        object("passwordPolicy", evidence.passwordPolicy.json)
        object("findings", .array(findings.map(\.json)))
        if lost != (0, 0, 0) { object("leftOut", leftOut) }
      }
    }

    /// Each check names only findings that are still there.
    private var checks: [JSON] {
      let kept = Set(findings.map(\.id))
      return evidence.checks.map { check in
        var check = check
        check.findings.removeAll { !kept.contains($0) }
        return check.json
      }
    }

    private var leftOut: JSON {
      [
        "subjects": .integer(Int64(lost.subjects)), "doors": .integer(Int64(lost.doors)),
        "findings": .integer(Int64(lost.findings)),
      ]
    }

    /// Closed doors say least.
    mutating func dropUninteresting() {
      let before = doors.count
      doors.removeAll { $0.answer == .closed }
      lost.doors += before - doors.count
    }

    /// False where nothing is left to drop. Findings go last, and the worst of them last of all.
    mutating func dropHalf() -> Bool {
      let plain = doors.filter { $0.answer == .required }
      if !plain.isEmpty {
        lost.doors += plain.count
        doors.removeAll { $0.answer == .required }
      } else if !subjects.isEmpty {
        lost.subjects += subjects.count - subjects.count / 2
        subjects.removeLast(subjects.count - subjects.count / 2)
      } else if !doors.isEmpty {
        lost.doors += doors.count - doors.count / 2
        doors.removeLast(doors.count - doors.count / 2)
      } else if !findings.isEmpty {
        lost.findings += findings.count - findings.count / 2
        findings.removeLast(findings.count - findings.count / 2)
      } else {
        return false
      }
      return true
    }
  }

  /// Rows that are equal but for the members `keys` become one row, whose members `keys` are lists in plural spelling
  /// (`subject` becomes `subjects`).
  static func grouped(_ rows: [JSON], by keys: String...) -> [JSON] {
    var order: [JSON] = []
    var members: [JSON: [JSON]] = [:]
    for row in rows {
      let rest = JSON.object((row.members ?? []).filter { !keys.contains($0.name) })
      if members[rest] == nil { order.append(rest) }
      members[rest, default: []].append(row)
    }
    return order.map { rest in
      let rows = members[rest] ?? []
      guard rows.count > 1 else { return rows[0] }
      let lists = keys.map { key in JSON.Member("\(key)s", .array(rows.map { $0[key] ?? .null })) }
      return .object(lists + (rest.members ?? []))
    }
  }
}
