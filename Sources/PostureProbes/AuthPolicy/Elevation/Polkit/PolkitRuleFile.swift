import Posture

/// Cuts one rules file into its rules.
struct PolkitRuleFile {
  private let tokens: [PolkitTokens.Entry]
  private let path: String
  private let isVendor: Bool
  private var globals: [String: PolkitValue] = [:]
  private var rules: [PolkitRules.Rule] = []

  static func rules(of tokens: [PolkitTokens.Entry], _ path: String, isVendor: Bool) -> [PolkitRules.Rule] {
    var file = PolkitRuleFile(tokens: tokens, path: path, isVendor: isVendor)
    // An error of syntax: polkitd reports it and goes on without the file.
    guard file.isBalanced else { return [] }
    var at = 0
    while at < tokens.count { at = file.rule(at) ?? file.declaration(at) ?? at + 1 }
    return file.rules
  }

  private init(tokens: [PolkitTokens.Entry], path: String, isVendor: Bool) {
    self.tokens = tokens
    self.path = path
    self.isVendor = isVendor
  }

  /// `polkit.addRule(…)`: the index behind it; nil where something else stands.
  private mutating func rule(_ at: Int) -> Int? {
    guard at + 4 < tokens.count, tokens[at].token == .name("polkit"), tokens[at + 1].token == .sign("."),
      case .name(let method) = tokens[at + 2].token, method == "addRule" || method == "addAdminRule",
      tokens[at + 3].token == .sign("(")
    else { return nil }
    let end = closing(at + 3)
    let inner = tokens[(at + 4)..<max(at + 4, end)]
    rules.append(
      PolkitRules.Rule(
        isAboutAdministrators: method == "addAdminRule", function: Self.function(inner), globals: globals,
        literals: Self.literals(inner), mayEase: inner.contains { Self.easing.contains($0.token) },
        place: Place(path, line: tokens[at].line), isVendor: isVendor))
    return end + 1
  }

  private static let easing: Set<PolkitToken> = [
    .name("YES"), .name("AUTH_SELF"), .name("AUTH_SELF_KEEP"), .text("YES"), .text("AUTH_SELF"),
    .text("AUTH_SELF_KEEP"), .text("yes"), .text("auth_self"), .text("auth_self_keep"),
  ]

  private static func function(_ tokens: ArraySlice<PolkitTokens.Entry>) -> PolkitScript.Function? {
    var parser = PolkitScriptParser(tokens)
    guard let function = try? parser.function(), parser.isAtEnd else { return nil }
    return function
  }

  private static func literals(_ tokens: ArraySlice<PolkitTokens.Entry>) -> [String] {
    tokens.compactMap { entry in
      if case .text(let text) = entry.token { text } else { nil }
    }
  }

  /// `var names = [ … ];` outside a rule.
  private mutating func declaration(_ at: Int) -> Int? {
    guard case .name(let word) = tokens[at].token, ["var", "let", "const"].contains(word) else { return nil }
    let end = tokens[at...].firstIndex { $0.token == .sign(";") } ?? tokens.count - 1
    var parser = PolkitScriptParser(tokens[at...end])
    guard let statements = try? parser.statement(), case .declare(let name, let expression) = statements.first,
      let value = Self.constant(expression)
    else { return nil }
    globals[name] = value
    return end + 1
  }

  private static func constant(_ expression: PolkitScript.Expression) -> PolkitValue? {
    switch expression {
    case .value(let value): return value
    case .list(let items):
      let values = items.compactMap(constant)
      return values.count == items.count ? .list(values) : nil
    default: return nil
    }
  }

  private var isBalanced: Bool {
    let pairs = ["(": ")", "[": "]", "{": "}"]
    var open: [String] = []
    for entry in tokens {
      guard case .sign(let sign) = entry.token else { continue }
      if let closing = pairs[sign] { open.append(closing) }
      if pairs.values.contains(sign), open.popLast() != sign { return false }
    }
    return open.isEmpty
  }

  /// The index of the bracket that closes the one at `open`, or of the last token.
  private func closing(_ open: Int) -> Int {
    var depth = 0
    for index in open..<tokens.count {
      switch tokens[index].token {
      case .sign("("), .sign("["), .sign("{"): depth += 1
      case .sign(")"), .sign("]"), .sign("}"):
        depth -= 1
        if depth == 0 { return index }
      default: break
      }
    }
    return tokens.count - 1
  }
}
