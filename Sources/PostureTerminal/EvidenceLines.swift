public import Posture

/// Evidence as a person reads it, of this machine or of a report. It may come from a newer agent: what is not of the known shape is left
/// out.
public struct EvidenceLines {
  private let evidence: JSON

  public init(_ evidence: JSON) { self.evidence = evidence }

  /// One row for each check: result, why with file and line, and what to do.
  public func checks(width: Int) -> [String] {
    var table = Table("CHECK", "RESULT", "WHY AND WHAT TO DO")
    for check in evidence["checks"]?.array ?? [] {
      let name = check["check"]?.string ?? "?"
      let isRequired = check["required"]?.bool ?? false
      let lines = findings(of: check)
      let result = Table.Cell(check["result"]?.string ?? "?", colour(check, isRequired))
      table.add(
        Table.Cell(isRequired ? "\(name) *" : name, isRequired ? .bold : nil), result,
        Table.Cell(lines.first ?? why(check)))
      for line in lines.dropFirst() { table.add("", "", Table.Cell(line)) }
    }
    return table.lines(width: width)
  }

  /// For a check without a finding.
  private func why(_ check: JSON) -> String {
    check["reason"]?.string ?? (check["result"]?.string == "absent" ? "nothing of this kind found" : "")
  }

  private func colour(_ check: JSON, _ isRequired: Bool) -> Terminal.Colour? {
    switch check["result"]?.string {
    case "success": .green
    case "fail": isRequired ? .red : .yellow
    case "not-run": .yellow
    default: nil
    }
  }

  private func findings(of check: JSON) -> [String] {
    let ids = check["findings"]?.strings ?? []
    return (evidence["findings"]?.array ?? []).filter { ids.contains($0["id"]?.string ?? "") }.flatMap(lines)
  }

  private func lines(_ finding: JSON) -> [String] {
    let subject = finding["subject"]?.string ?? "*"
    let places = (finding["evidence"]?.array ?? []).compactMap(place)
    let head = [finding["severity"]?.string, finding["code"]?.string].compactMap { $0 }.joined(separator: " ")
    let seen = (subject == "*" ? "" : "\(subject): ") + (finding["observed"]?.string ?? "")
    let since = finding["since"]?.integer.map { " since \(Timestamp.text($0))" } ?? ""
    let proof = places.isEmpty ? "" : " (\(places.joined(separator: ", ")))"
    let advice = finding["advice"]?.string ?? ""
    return ["\(head): \(seen)\(proof)\(since)"] + (advice.isEmpty ? [] : ["→ \(advice)"])
  }

  private func place(_ json: JSON) -> String? {
    guard let file = json["file"]?.string else { return nil }
    return json["line"]?.integer.map { "\(file):\($0)" } ?? file
  }

  /// One row for each door: who gets in, with what, and why.
  public func doors(width: Int) -> [String] {
    var table = Table("DOOR", "SUBJECT", "ANSWER", "OPENS WITH, BECAUSE")
    table.flowsBeneath = true
    for door in evidence["doors"]?.array ?? [] {
      let subjects = door["subjects"]?.strings ?? [door["subject"]?.string ?? "?"]
      let answer = door["answer"]?.string ?? "?"
      table.add(
        Table.Cell(door["door"]?.string ?? "?"), Table.Cell(subjects.joined(separator: " ")),
        Table.Cell(answer, answer == "notRequired" ? .red : answer == "unknown" ? .yellow : .green),
        Table.Cell([Self.opening(door), because(door)].filter { !$0.isEmpty }.joined(separator: "; ")))
    }
    return table.lines(width: width)
  }

  /// `passcode, or biometric+device`.
  static func opening(_ door: JSON) -> String {
    guard let sets = door["opensWith"]?.array else { return "not known" }
    if sets.isEmpty { return "nothing opens it" }
    return sets.map { set in
      let factors = set.strings ?? []
      return factors.isEmpty ? "nothing needed" : factors.joined(separator: "+")
    }.joined(separator: ", or ")
  }

  private func because(_ door: JSON) -> String {
    (door["because"]?.array ?? []).compactMap { reason -> String? in
      guard let code = reason["code"]?.string else { return nil }
      return place(reason).map { "\(code) \($0)" } ?? code
    }.joined(separator: ", ")
  }

  /// What did not fit into the report: `3 doors left out`.
  public var leftOut: String? {
    let counts = (evidence["leftOut"]?.members ?? []).filter { ($0.value.integer ?? 0) > 0 }
    guard !counts.isEmpty else { return nil }
    return "left out for size: " + counts.map { "\($0.value.integer ?? 0) \($0.name)" }.joined(separator: ", ")
  }
}
