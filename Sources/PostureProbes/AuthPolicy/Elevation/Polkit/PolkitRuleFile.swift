import Posture

/// Cuts one rules file into its rules.
struct PolkitRuleFile {
  private typealias Entries = ArraySlice<PolkitTokens.Entry>

  private let tokens: [PolkitTokens.Entry]
  private let path: String
  private let isVendor: Bool
  /// Names that get another value, or whose list gets other elements, after they were declared.
  private let changed: Set<String>
  /// The text of each function that has a name.
  private var functions: [String: Entries] = [:]
  private var globals: [String: PolkitValue] = [:]
  private var rules: [PolkitRules.Rule] = []
  /// Whether there is already a rule, and one about administrators, that any text of the file may be of.
  private var vague: Set<Bool> = []

  static func rules(of tokens: [PolkitTokens.Entry], _ path: String, isVendor: Bool) -> [PolkitRules.Rule] {
    // An error of syntax: polkitd reports it and goes on without the file.
    guard isBalanced(tokens) else { return [] }
    var file = PolkitRuleFile(tokens: tokens, path: path, isVendor: isVendor)
    var at = 0
    while at < tokens.count { at = file.rule(at) ?? file.namedFunction(at) ?? file.declaration(at) ?? at + 1 }
    // A rule runs when the whole file has been read.
    for index in file.rules.indices { file.rules[index].globals = file.globals }
    return file.rules
  }

  private init(tokens: [PolkitTokens.Entry], path: String, isVendor: Bool) {
    self.tokens = tokens
    self.path = path
    self.isVendor = isVendor
    changed = Self.changed(tokens)
    // A function may be declared behind the rule that names it.
    for at in tokens.indices {
      guard let (name, start) = named(at) else { continue }
      functions[name] = tokens[start...]
    }
  }

  // MARK: Rules

  /// `.addRule(…)` of whatever stands for polkit: the index behind it; nil where something else stands.
  private mutating func rule(_ at: Int) -> Int? {
    guard at > 0, let method = method(at), method == "addRule" || method == "addAdminRule" else { return nil }
    let isAboutAdministrators = method == "addAdminRule"
    let open = tokens[at - 1].token == .sign("[") ? at + 2 : at + 1
    guard open < tokens.count, tokens[open].token == .sign("(") else {
      // It is called by another name.
      addVague(isAboutAdministrators, line: tokens[at].line)
      return at + 1
    }
    let end = closing(open)
    let argument = tokens[(open + 1)..<max(open + 1, end)]
    if let (function, text) = function(in: argument) ?? function(named: argument) {
      add(function, isAboutAdministrators, text: text, line: tokens[at].line)
    } else {
      addVague(isAboutAdministrators, line: tokens[at].line)
    }
    return end + 1
  }

  private func method(_ at: Int) -> String? {
    switch (tokens[at - 1].token, tokens[at].token) {
    case (.sign("."), .name(let name)), (.sign("?."), .name(let name)), (.sign("["), .text(let name)): name
    default: nil
    }
  }

  /// A rule that any text of the file may be of.
  private mutating func addVague(_ isAboutAdministrators: Bool, line: Int) {
    guard vague.insert(isAboutAdministrators).inserted else { return }
    add(nil, isAboutAdministrators, text: tokens[...], line: line)
  }

  private mutating func add(
    _ function: PolkitScript.Function?, _ isAboutAdministrators: Bool, text: Entries, line: Int
  ) {
    rules.append(
      PolkitRules.Rule(
        isAboutAdministrators: isAboutAdministrators, function: function, globals: [:],
        literals: Self.literals(text), mayEase: text.contains { Self.easing.contains($0.token) },
        place: Place(path, line: line), isVendor: isVendor))
  }

  private static let easing: Set<PolkitToken> = [
    .name("YES"), .name("AUTH_SELF"), .name("AUTH_SELF_KEEP"), .text("YES"), .text("AUTH_SELF"),
    .text("AUTH_SELF_KEEP"), .text("yes"), .text("auth_self"), .text("auth_self_keep"),
  ]

  /// A function as it may stand in an argument: nil itself where it is beyond what is read here.
  private func function(in argument: Entries) -> (PolkitScript.Function?, Entries)? {
    var parser = PolkitScriptParser(argument, changed: changed)
    if let function = try? parser.function(), parser.isAtEnd { return (function, argument) }
    let isLiteral = [.name("function"), .sign("(")].contains(argument.first?.token)
    return isLiteral ? (nil, argument) : nil
  }

  private static func literals(_ tokens: Entries) -> [String] {
    tokens.compactMap { entry in
      if case .text(let text) = entry.token { text } else { nil }
    }
  }

  // MARK: Functions with a name

  /// The function that an argument names; nil where it is none, or another one at times.
  private func function(named argument: Entries) -> (PolkitScript.Function?, Entries)? {
    guard argument.count == 1, case .name(let name) = argument.first?.token, !changed.contains(name),
      let text = functions[name]
    else { return nil }
    var parser = PolkitScriptParser(text, changed: changed)
    guard let function = try? parser.function() else { return nil }
    return (function, text[..<parser.at])
  }

  /// `function NAME(`, `NAME = function` or `NAME = (`: the name, and where the function begins.
  private func named(_ at: Int) -> (String, Int)? {
    guard at + 2 < tokens.count, case .name(let word) = tokens[at].token,
      case .name(let name) = tokens[at + 1].token
    else { return nil }
    if word == "function" { return (name, at) }
    return Self.declaring.contains(word) && tokens[at + 2].token == .sign("=") ? (name, at + 3) : nil
  }

  private static let declaring: Set = ["var", "let", "const"]

  /// Passes over a function that adds no rules itself: what is declared within is its own.
  private func namedFunction(_ at: Int) -> Int? {
    guard let (_, start) = named(at) else { return nil }
    var parser = PolkitScriptParser(tokens[start...])
    guard (try? parser.function()) != nil else { return nil }
    return addsRules(start..<parser.at) ? nil : parser.at
  }

  private func addsRules(_ range: Range<Int>) -> Bool {
    tokens[range].contains { [.name("addRule"), .name("addAdminRule")].contains($0.token) }
  }

  // MARK: Values

  /// `var names = [ … ];` outside a rule: the index behind it.
  private mutating func declaration(_ at: Int) -> Int? {
    guard case .name(let word) = tokens[at].token, Self.declaring.contains(word) else { return nil }
    var parser = PolkitScriptParser(tokens[at...])
    guard let statements = try? parser.statement(), !addsRules(at..<parser.at) else { return nil }
    for case .declare(let name, let expression) in statements where !changed.contains(name) {
      globals[name] = Self.constant(expression)
    }
    return parser.at
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

  private static func changed(_ tokens: [PolkitTokens.Entry]) -> Set<String> {
    var names: Set<String> = []
    var open: [Int] = []
    for at in tokens.indices {
      switch tokens[at].token {
      case .sign("["): open.append(at)
      case .sign("]"):
        guard let start = open.popLast(), start > 0, assigns(at + 1, tokens),
          case .name(let list) = tokens[start - 1].token
        else { continue }
        names.insert(list)
      case .name(let name): if isChanged(at, tokens) { names.insert(name) }
      default: break
      }
    }
    return names
  }

  /// Whether the name at this place gets another value here, or a member or an element of it does.
  private static func isChanged(_ at: Int, _ tokens: [PolkitTokens.Entry]) -> Bool {
    if at > 0, [.sign("++"), .sign("--")].contains(tokens[at - 1].token) { return true }
    guard at + 1 < tokens.count else { return false }
    switch tokens[at + 1].token {
    case .name(let word): return word == "of" || word == "in"
    case .sign("."):
      guard at + 2 < tokens.count, case .name(let member) = tokens[at + 2].token else { return false }
      return PolkitScript.changing.contains(member) || assigns(at + 3, tokens)
    default: return assigns(at + 1, tokens) && (at == 0 || !isDeclared(tokens[at - 1].token))
    }
  }

  /// `=`, `+=`, `++` and the like, also those that are read as two signs.
  private static func assigns(_ at: Int, _ tokens: [PolkitTokens.Entry]) -> Bool {
    guard at < tokens.count, case .sign(let sign) = tokens[at].token else { return false }
    if ["=", "+=", "-=", "++", "--"].contains(sign) { return true }
    let isCombining = ["|", "&", "^", "*", "/", "%", "||", "&&", "??"].contains(sign)
    return isCombining && at + 1 < tokens.count && tokens[at + 1].token == .sign("=")
  }

  /// What stands before a name that is declared; a comma, between two of them.
  private static func isDeclared(_ before: PolkitToken) -> Bool {
    if case .name(let word) = before { return declaring.contains(word) }
    return before == .sign(",")
  }

  // MARK: Brackets

  private static func isBalanced(_ tokens: [PolkitTokens.Entry]) -> Bool {
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
