import Posture
import PostureFleet
import PostureTerminal

/// `posturectl explain`: what a code means.
struct ExplainVerb: Verb {
  static let name = "explain"
  static let summary = "what the code of a finding or a state means, and how to mend it"
  static let help = """
    usage: posturectl explain CODE [--json]
           posturectl explain --list

    CODE is that of a finding, or a state such as chainBroken or trustStale.
    """

  private let code: String?
  private let isJSON: Bool

  init(_ arguments: inout Arguments) throws(UsageError) {
    isJSON = arguments.flag("--json")
    let isList = arguments.flag("--list")
    code = isList ? nil : try arguments.rest(1...1, "a code")[0]
    try arguments.end()
  }

  func run() throws -> Int32 {
    guard let code else {
      for finding in FindingCatalogue.all.sorted(by: { $0.code < $1.code }) { Terminal.out(finding.code) }
      for condition in Condition.allCases { Terminal.out(condition.rawValue) }
      return 0
    }
    if let finding = FindingCatalogue[code] {
      show(code, finding.meaning, finding.advice)
    } else if let condition = Condition(rawValue: code) {
      show(code, condition.meaning, condition.advice)
    } else {
      throw UsageError("\(code): not a code that this version knows")
    }
    return 0
  }

  private func show(_ code: String, _ meaning: String, _ advice: String) {
    if isJSON {
      let json: JSON = ["code": .string(code), "meaning": .string(meaning), "advice": .string(advice)]
      return Terminal.out(json.text)
    }
    Terminal.out(Terminal.paint(code, .bold))
    Terminal.out(meaning)
    Terminal.out("→ \(advice)")
  }
}
