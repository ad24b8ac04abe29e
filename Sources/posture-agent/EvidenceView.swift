import Posture
import PostureTerminal

/// Evidence as a person reads it: each check with its result, why, and what to do.
struct EvidenceView {
  private let evidence: Evidence
  private let policy: Policy

  init(_ evidence: Evidence, _ policy: Policy) {
    self.evidence = evidence
    self.policy = policy
  }

  func show() {
    var table = Table("CHECK", "RESULT", "WHY AND WHAT TO DO")
    for check in evidence.checks {
      let findings = evidence.findings.filter { check.findings.contains($0.id) }
      let lines = findings.isEmpty ? [why(check)] : findings.flatMap(lines)
      for (index, line) in lines.enumerated() {
        if index == 0 {
          table.add(
            Table.Cell(check.name.rawValue, check.required ? .bold : nil), result(check), Table.Cell(line))
        } else {
          table.add("", "", Table.Cell(line))
        }
      }
    }
    table.lines().forEach(Terminal.out)
    Terminal.out("")
    Terminal.out(Terminal.paint("verdict: \(evidence.summary(policy))", colour))
  }

  private func result(_ check: Check) -> Table.Cell {
    let colour: Terminal.Colour? =
      switch check.result {
      case .success: .green
      case .fail: check.required ? .red : .yellow
      case .notRun: .yellow
      case .absent: nil
      }
    return Table.Cell(check.result.rawValue, colour)
  }

  private func why(_ check: Check) -> String {
    if let reason = check.reason { return reason }
    return check.result == .absent ? "nothing of this kind found" : ""
  }

  private func lines(_ finding: Finding) -> [String] {
    let places = finding.evidence.map { place in place.line.map { "\(place.file):\($0)" } ?? place.file }
    let subject = finding.subject == "*" ? "" : "\(finding.subject): "
    let seen = [subject + finding.observed] + (places.isEmpty ? [] : ["(\(places.joined(separator: ", ")))"])
    return ["\(finding.severity.rawValue) \(finding.code): " + seen.joined(separator: " ")]
      + (finding.advice.isEmpty ? [] : ["→ " + finding.advice])
  }

  private var colour: Terminal.Colour {
    switch evidence.verdict {
    case .pass: .green
    case .fail: .red
    case .unknown: .yellow
    }
  }
}
