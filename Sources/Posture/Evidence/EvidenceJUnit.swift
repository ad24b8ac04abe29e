extension Evidence {
  /// The checks as a JUnit test suite, for the build systems that show it: a required check that fails is a failure, one
  /// that could not be told an error; what the policy does not require is skipped, with its result.
  public func junit(_ policy: Policy) -> String {
    let cases = checks.map { testCase($0, policy.demand(of: $0.name)) }
    let count = { (outcome: Outcome) in cases.filter { $0.outcome == outcome }.count }
    let suite =
      "<testsuite name=\"posture (\(Self.escape(self.policy)))\" tests=\"\(cases.count)\" "
      + "failures=\"\(count(.failure))\" errors=\"\(count(.error))\" skipped=\"\(count(.skipped))\">"
    return (["<?xml version=\"1.0\" encoding=\"UTF-8\"?>", suite] + cases.map(\.text) + ["</testsuite>", ""])
      .joined(separator: "\n")
  }

  private enum Outcome: String { case passed, failure, error, skipped }

  private func testCase(_ check: Check, _ demand: Policy.Demand) -> (outcome: Outcome, text: String) {
    let outcome = outcome(check.result, demand)
    let head = "  <testcase classname=\"posture\" name=\"\(check.name.rawValue)\""
    guard outcome != .passed else { return (outcome, head + "/>") }
    let message = "\(check.result.rawValue)\(demand == .inform ? ", not required" : "")"
    let lines = findings.filter { check.findings.contains($0.id) }.map(line)
    return (
      outcome,
      "\(head)><\(outcome.rawValue) message=\"\(message)\">"
        + Self.escape(lines.joined(separator: "\n")) + "</\(outcome.rawValue)></testcase>"
    )
  }

  private func outcome(_ result: CheckResult, _ demand: Policy.Demand) -> Outcome {
    switch (result, demand) {
    case (.success, _): .passed
    case (_, .inform), (.absent, .requireIfPresent): .skipped
    case (.fail, _): .failure
    case (.notRun, _), (.absent, .require): .error
    }
  }

  private func line(_ finding: Finding) -> String {
    let places = finding.evidence.map { place in place.line.map { "\(place.file):\($0)" } ?? place.file }
    return "\(finding.severity.rawValue) \(finding.code) \(finding.subject): \(finding.observed) "
      + "(\(places.joined(separator: ", "))). \(finding.advice)"
  }

  /// Text for XML 1.0, which has no way at all to write most control characters.
  private static func escape(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { out, scalar in
      switch scalar {
      case "&": out += "&amp;"
      case "<": out += "&lt;"
      case ">": out += "&gt;"
      case "\"": out += "&quot;"
      case "\n", "\t": out.unicodeScalars.append(scalar)
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{FFFE}", "\u{FFFF}": out += "\u{FFFD}"
      default: out.unicodeScalars.append(scalar)
      }
    }
  }
}
