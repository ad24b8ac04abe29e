/// Anything that the part of JavaScript read here does not have.
struct PolkitScriptError: Error, Hashable, Sendable {}

/// Reads statements and expressions of a rule. What cannot be read has an unknown value where it is one operand, and
/// takes the rest of its block with it where it is a statement.
struct PolkitScriptParser {
  private let tokens: ArraySlice<PolkitTokens.Entry>
  /// The index of the next word.
  private(set) var at: Int
  private var depth = 0
  /// Names that get another value after they were declared.
  private let changed: Set<String>
  /// Whether anything was passed over, or is only known to run or not.
  private var isGuessed = false
  /// How many `switch` statements are around this place: a `break` that cannot be read would leave one.
  private var choices = 0

  init(_ tokens: ArraySlice<PolkitTokens.Entry>, changed: Set<String> = []) {
    self.tokens = tokens
    self.changed = changed
    at = tokens.startIndex
  }

  private var token: PolkitToken? { at < tokens.endIndex ? tokens[at].token : nil }
  var isAtEnd: Bool { at >= tokens.endIndex }

  private mutating func take(_ sign: String) -> Bool {
    guard token == .sign(sign) else { return false }
    at += 1
    return true
  }

  private mutating func takeWord(_ word: String) -> Bool {
    guard token == .name(word) else { return false }
    at += 1
    return true
  }

  private mutating func expect(_ sign: String) throws(PolkitScriptError) {
    guard take(sign) else { throw PolkitScriptError() }
  }

  private mutating func identifier() throws(PolkitScriptError) -> String {
    guard case .name(let word) = token else { throw PolkitScriptError() }
    at += 1
    return word
  }

  /// No rule is deeper than this; a text made to exhaust the stack is.
  private mutating func enter() throws(PolkitScriptError) {
    if depth >= 60 { throw PolkitScriptError() }
    depth += 1
  }

  // MARK: Statements

  /// `function (a, b) { … }`, `(a, b) => { … }` or `a => result`.
  mutating func function() throws(PolkitScriptError) -> PolkitScript.Function {
    if takeWord("function"), case .name = token { at += 1 }
    var parameters: [String] = []
    if take("(") {
      while !take(")") {
        parameters.append(try identifier())
        _ = take(",")
      }
    } else {
      parameters.append(try identifier())
      guard token == .sign("=>") else { throw PolkitScriptError() }
    }
    guard changed.isDisjoint(with: parameters) else { throw PolkitScriptError() }
    let body = take("=>") && token != .sign("{") ? [.result(try expression())] : try block()
    return PolkitScript.Function(parameters: parameters, body: body, isGuessed: isGuessed)
  }

  private mutating func block() throws(PolkitScriptError) -> [PolkitScript.Statement] {
    try expect("{")
    var body: [PolkitScript.Statement] = []
    while !take("}") {
      let start = at
      do throws(PolkitScriptError) { body += try statement() } catch {
        at = start
        body += try unreadableRest()
      }
    }
    return body
  }

  /// To the end of the block: it may return anything, or nothing.
  private mutating func unreadableRest() throws(PolkitScriptError) -> [PolkitScript.Statement] {
    let start = at
    while let token, token != .sign("}") { try skip() }
    let leaves = choices > 0 && tokens[start..<at].contains { $0.token == .name("break") }
    guard !isAtEnd, !leaves else { throw PolkitScriptError() }
    isGuessed = true
    return [.branch(.value(.unknown), [.result(.value(.unknown))], [])]
  }

  /// One word, or all between two brackets.
  private mutating func skip() throws(PolkitScriptError) {
    var open = 0
    repeat {
      guard let token else { throw PolkitScriptError() }
      switch token {
      case .sign("("), .sign("["), .sign("{"): open += 1
      case .sign(")"), .sign("]"), .sign("}"): open -= 1
      default: break
      }
      at += 1
    } while open > 0
  }

  mutating func statement() throws(PolkitScriptError) -> [PolkitScript.Statement] {
    try enter()
    defer { depth -= 1 }
    if take(";") { return [] }
    if token == .sign("{") { return try block() }
    if takeWord("if") { return [try branch()] }
    if takeWord("switch") { return [try choose()] }
    if takeWord("for") || takeWord("while") { return [try loop()] }
    if takeWord("try") { return try attempt() }
    if takeWord("return") { return [.result(try returned())] }
    if takeWord("break") {
      _ = take(";")
      return [.leave]
    }
    for word in ["var", "let", "const"] where takeWord(word) { return try declarations() }
    if case .name(let word) = token, Self.statements.contains(word) { throw PolkitScriptError() }
    return [.evaluate(try ended())]
  }

  /// What begins or belongs to a statement, and no expression.
  private static let statements: Set = [
    "if", "else", "switch", "case", "default", "for", "while", "do", "try", "catch", "finally", "throw", "return",
    "break", "continue", "var", "let", "const", "with", "class",
  ]

  /// A loop runs its body, or not: what differs from one turn to the next has no known value.
  private mutating func loop() throws(PolkitScriptError) -> PolkitScript.Statement {
    let start = at
    guard token == .sign("(") else { throw PolkitScriptError() }
    try skip()
    // for (;;)
    if at - start == 4 { throw PolkitScriptError() }
    isGuessed = true
    choices += 1
    defer { choices -= 1 }
    let unknown = PolkitScript.Expression.value(.unknown)
    return .choose(unknown, [PolkitScript.Case(match: unknown, body: try statement())])
  }

  /// `try { … } catch (e) { … }`: each part runs, or not.
  private mutating func attempt() throws(PolkitScriptError) -> [PolkitScript.Statement] {
    isGuessed = true
    var parts = [try block()]
    if takeWord("catch") {
      if token == .sign("(") { try skip() }
      parts.append(try block())
    }
    if takeWord("finally") { parts.append(try block()) }
    return parts.map { .branch(.value(.unknown), $0, []) }
  }

  private mutating func returned() throws(PolkitScriptError) -> PolkitScript.Expression? {
    if take(";") || token == .sign("}") { return nil }
    return try ended()
  }

  private mutating func ended() throws(PolkitScriptError) -> PolkitScript.Expression {
    let value = try expression()
    guard endsStatement() else { throw PolkitScriptError() }
    return value
  }

  private mutating func endsStatement() -> Bool { take(";") || token == .sign("}") || isOnNewLine }

  /// A statement may end with its line.
  private var isOnNewLine: Bool {
    guard at < tokens.endIndex, at > tokens.startIndex else { return true }
    return tokens[at].line > tokens[at - 1].line
  }

  private mutating func branch() throws(PolkitScriptError) -> PolkitScript.Statement {
    try expect("(")
    let condition = try expression()
    try expect(")")
    let then = try statement()
    let otherwise = takeWord("else") ? try statement() : []
    return .branch(condition, then, otherwise)
  }

  private mutating func choose() throws(PolkitScriptError) -> PolkitScript.Statement {
    try expect("(")
    let value = try expression()
    try expect(")")
    try expect("{")
    choices += 1
    defer { choices -= 1 }
    var cases: [PolkitScript.Case] = []
    while !take("}") {
      var match: PolkitScript.Expression?
      if !takeWord("default") {
        guard takeWord("case") else { throw PolkitScriptError() }
        match = try expression()
      }
      try expect(":")
      var body: [PolkitScript.Statement] = []
      while token != .name("case"), token != .name("default"), token != .sign("}") { body += try statement() }
      cases.append(PolkitScript.Case(match: match, body: body))
    }
    return .choose(value, cases)
  }

  /// `a = 1, b` behind `var`.
  private mutating func declarations() throws(PolkitScriptError) -> [PolkitScript.Statement] {
    var found: [PolkitScript.Statement] = []
    repeat {
      let name = try identifier()
      let value = take("=") ? try expression() : .value(.nothing)
      found.append(.declare(name, changed.contains(name) ? .value(.unknown) : value))
    } while take(",")
    guard endsStatement() else { throw PolkitScriptError() }
    return found
  }

  // MARK: Expressions

  mutating func expression() throws(PolkitScriptError) -> PolkitScript.Expression {
    try enter()
    defer { depth -= 1 }
    let condition = try either()
    guard take("?") else { return condition }
    let yes = try expression()
    try expect(":")
    return .choice(condition, yes, try expression())
  }

  private mutating func either() throws(PolkitScriptError) -> PolkitScript.Expression {
    var left = try both()
    while take("||") { left = .either(left, try both()) }
    return left
  }

  private mutating func both() throws(PolkitScriptError) -> PolkitScript.Expression {
    var left = try operand()
    while take("&&") { left = .both(left, try operand()) }
    return left
  }

  /// One side of `&&`, of an unknown value where it cannot be read: all that is not read here binds tighter, but for
  /// arrows and assignments, which take everything to their right.
  private mutating func operand() throws(PolkitScriptError) -> PolkitScript.Expression {
    let start = at
    if let value = try? comparison(), isAtOperandEnd { return value }
    at = start
    var ends = Self.operandEnds
    while let token {
      if case .name(let word) = token, Self.statements.contains(word) { throw PolkitScriptError() }
      if case .sign(let sign) = token {
        if ends.contains(sign) { break }
        if Self.takingAll.contains(sign) { ends = Self.expressionEnds }
      }
      try skip()
    }
    guard at > start else { throw PolkitScriptError() }
    isGuessed = true
    return .value(.unknown)
  }

  private static let expressionEnds: Set = [")", "]", "}", ",", ";"]
  private static let operandEnds = expressionEnds.union(["&&", "||", "?", ":"])
  private static let takingAll: Set = ["=>", "=", "+=", "-="]

  private var isAtOperandEnd: Bool {
    guard let token else { return true }
    if case .sign(let sign) = token { return Self.operandEnds.contains(sign) }
    return isOnNewLine
  }

  private mutating func comparison() throws(PolkitScriptError) -> PolkitScript.Expression {
    var left = try unary()
    while let sign = ["===", "!==", "==", "!=", ">=", "<=", ">", "<"].first(where: { token == .sign($0) }) {
      at += 1
      left = .compare(sign, left, try unary())
    }
    return left
  }

  private mutating func unary() throws(PolkitScriptError) -> PolkitScript.Expression {
    try enter()
    defer { depth -= 1 }
    if take("!") { return .not(try unary()) }
    if take("-") { return .negative(try unary()) }
    return try sum()
  }

  /// A text that is put together of several, as in a message for the log: its value is of no interest.
  private mutating func sum() throws(PolkitScriptError) -> PolkitScript.Expression {
    var value = try postfix()
    while take("+") {
      _ = try postfix()
      value = .value(.unknown)
    }
    return value
  }

  private mutating func postfix() throws(PolkitScriptError) -> PolkitScript.Expression {
    var value = try primary()
    var links = 0
    while links < 60 {
      links += 1
      if take(".") {
        value = .member(value, try identifier())
      } else if take("(") {
        value = .call(value, try items(until: ")"))
      } else if take("[") {
        value = try element(of: value)
      } else {
        return value
      }
    }
    throw PolkitScriptError()
  }

  /// `object["name"]` is `object.name`; which element of a list is meant is of no interest.
  private mutating func element(of object: PolkitScript.Expression) throws(PolkitScriptError) -> PolkitScript.Expression
  {
    let index = try expression()
    try expect("]")
    if case .value(.text(let name)) = index { return .member(object, name) }
    return .value(.unknown)
  }

  private mutating func items(until end: String) throws(PolkitScriptError) -> [PolkitScript.Expression] {
    var items: [PolkitScript.Expression] = []
    while !take(end) {
      items.append(try expression())
      if !take(","), token != .sign(end) { throw PolkitScriptError() }
    }
    return items
  }

  /// Whether the text that was just taken is a template with values in it.
  private func isFilledIn(_ text: String) -> Bool { tokens[at - 1].isTemplate && text.range(ofText: "${") != nil }

  private mutating func primary() throws(PolkitScriptError) -> PolkitScript.Expression {
    guard let token else { throw PolkitScriptError() }
    at += 1
    switch token {
    case .text(let text): return .value(isFilledIn(text) ? .unknown : .text(text))
    case .number(let number): return .value(.number(number))
    case .regularExpression(let pattern, let flags):
      return .value(PolkitExpression(pattern, flags: flags).map { .expression($0) } ?? .unknown)
    case .name("true"): return .value(.truth(true))
    case .name("false"): return .value(.truth(false))
    case .name("null"), .name("undefined"): return .value(.nothing)
    case .name("function"), .name("new"): throw PolkitScriptError()
    case .name(let name): return .name(name)
    case .sign("["): return .list(try items(until: "]"))
    case .sign("("):
      let value = try expression()
      try expect(")")
      return value
    case .sign: throw PolkitScriptError()
    }
  }
}
