import Posture
import PostureFleet
import PostureTerminal

/// `posturectl explain`: what a code means.
struct ExplainVerb: Verb {
  static let name = "explain"
  static let summary = "what the code of a finding, a state or a refusal means, and how to mend it"
  static let help = """
    usage: posturectl explain CODE... [--json]
           posturectl explain --list

    CODE is that of a finding, a state such as chainBroken or trustStale, or what a device refused a recheck with.
    """

  private let codes: [String]
  private let isJSON: Bool

  init(_ arguments: inout Arguments) throws(UsageError) {
    let isList = arguments.flag("--list")
    isJSON = !isList && arguments.flag("--json")
    codes = isList ? [] : try arguments.rest(1...1_000, "a code")
    try arguments.end()
  }

  func run() throws -> Int32 {
    if codes.isEmpty { Explanation.codes.forEach(Terminal.out) }
    for code in codes {
      guard let explanation = Explanation(code) else {
        throw UsageError("\(code): not a code that this version knows; see posturectl explain --list")
      }
      show(explanation)
    }
    return 0
  }

  private func show(_ it: Explanation) {
    if isJSON {
      let json: JSON = ["code": .string(it.code), "meaning": .string(it.meaning), "advice": .string(it.advice)]
      return Terminal.out(json.text)
    }
    Terminal.out(Terminal.paint(it.code, .bold))
    Terminal.out(it.meaning)
    Terminal.out("→ \(it.advice)")
  }
}
