/// Runs a rule for one action and one person. Where a condition cannot be told both ways are followed.
struct PolkitEvaluator {
  /// Whom and what the rule is asked about.
  struct Question: Sendable {
    var action: String
    /// nil: somebody from a directory.
    var user: String?
    /// Answers nil where membership cannot be told.
    var isInGroup: @Sendable (String) -> Bool?
    var isInNetgroup: @Sendable (String) -> Bool? = { _ in nil }
    /// nil: cannot be told.
    var groups: [String]?
    var isLocal = true
    var isActive = true
    /// `action.lookup("program")`; nil: some text that the rule does not name.
    var program: String?
  }

  private let question: Question
  /// Values that the file declares outside its rules.
  private let globals: [String: PolkitValue]
  private let listsInclude: Bool
  private var budget = 2_000

  init(_ question: Question, globals: [String: PolkitValue] = [:], listsInclude: Bool = true) {
    self.question = question
    self.globals = globals
    self.listsInclude = listsInclude
  }

  /// Everything that the function may return, `nothing` where it ends without a result that is true.
  mutating func results(of function: PolkitScript.Function) -> Set<PolkitValue> {
    var scope = Scope(
      names: globals, action: function.parameters.first, subject: function.parameters.dropFirst().first)
    for name in function.parameters { scope.names[name] = nil }
    return Set(
      run(function.body[...], scope).map { end in
        switch end {
        // polkitd refuses where a rule breaks off with an error.
        case .result(.failure): .text("no")
        case .result(let value) where truth(value) != false: value
        default: .nothing
        }
      })
  }

  /// The two parameters are known by their names only, whatever these are.
  private struct Scope {
    var names: [String: PolkitValue]
    let action: String?
    let subject: String?
  }

  private enum End: Hashable {
    case next
    case left
    case result(PolkitValue)
  }

  // MARK: Statements

  private mutating func run(_ statements: ArraySlice<PolkitScript.Statement>, _ scope: Scope) -> Set<End> {
    budget -= 1
    guard budget > 0 else { return [.result(.unknown)] }
    guard let first = statements.first else { return [.next] }
    let rest = statements.dropFirst()
    switch first {
    case .evaluate(.call(.member(.name(let list), let method), _)) where PolkitScript.changing.contains(method):
      var scope = scope
      scope.names[list] = .unknown
      return run(rest, scope)
    case .evaluate: return run(rest, scope)
    case .leave: return [.left]
    case .result(let expression): return [.result(expression.map { value($0, scope) } ?? .nothing)]
    case .declare(let name, let expression):
      let value = value(expression, scope)
      if value == .failure { return [.result(.failure)] }
      var scope = scope
      scope.names[name] = value
      return run(rest, scope)
    case .branch(let condition, let then, let otherwise):
      let met = value(condition, scope)
      if met == .failure { return [.result(.failure)] }
      switch truth(met) {
      case true: return run(then[...] + rest, scope)
      case false: return run(otherwise[...] + rest, scope)
      case nil: return run(then[...] + rest, scope).union(run(otherwise[...] + rest, scope))
      }
    case .choose(let expression, let cases):
      var ends: Set<End> = []
      var after = scope
      for name in Self.declared(cases.flatMap(\.body)) { after.names[name] = .unknown }
      for end in choose(value(expression, scope), cases, scope) {
        if case .result = end { ends.insert(end) } else { ends.formUnion(run(rest, after)) }
      }
      return ends
    }
  }

  /// Names that statements declare: `var` is the whole function's, wherever it stands.
  private static func declared(_ statements: [PolkitScript.Statement]) -> [String] {
    statements.flatMap { statement -> [String] in
      switch statement {
      case .declare(let name, _): [name]
      case .branch(_, let then, let otherwise): declared(then) + declared(otherwise)
      case .choose(_, let cases): declared(cases.flatMap(\.body))
      case .result, .evaluate, .leave: []
      }
    }
  }

  private mutating func choose(_ chosen: PolkitValue, _ cases: [PolkitScript.Case], _ scope: Scope) -> Set<End> {
    var ends: Set<End> = []
    for (index, one) in cases.enumerated() {
      guard let match = one.match else { continue }
      let isEqual = Self.equal(chosen, value(match, scope))
      if isEqual != false { ends.formUnion(run(cases[index...].flatMap(\.body)[...], scope)) }
      if isEqual == true { return ends }
    }
    guard let index = cases.firstIndex(where: { $0.match == nil }) else { return ends.union([.next]) }
    return ends.union(run(cases[index...].flatMap(\.body)[...], scope))
  }

  // MARK: Expressions

  private func value(_ expression: PolkitScript.Expression, _ scope: Scope) -> PolkitValue {
    switch expression {
    case .value(let value): return value
    case .name(let name): return scope.names[name] ?? .unknown
    case .member(let object, let name): return member(object, name, scope)
    case .call(let function, let arguments): return call(function, arguments.map { value($0, scope) }, scope)
    case .list(let items): return .list(items.map { value($0, scope) })
    case .not(let inner):
      let value = value(inner, scope)
      return value == .failure ? .failure : truth(value).map { .truth(!$0) } ?? .unknown
    case .negative(let inner):
      if case .number(let number) = value(inner, scope) { return .number(-number) }
      return .unknown
    case .both(let left, let right): return both(value(left, scope), value(right, scope))
    case .either(let left, let right): return either(value(left, scope), value(right, scope))
    case .compare(let sign, let left, let right): return compare(sign, value(left, scope), value(right, scope))
    case .choice(let condition, let yes, let no):
      let (yes, no) = (value(yes, scope), value(no, scope))
      switch truth(value(condition, scope)) {
      case true: return yes
      case false: return no
      case nil: return yes == no ? yes : .unknown
      }
    }
  }

  private func both(_ left: PolkitValue, _ right: PolkitValue) -> PolkitValue {
    switch truth(left) {
    case _ where left == .failure: .failure
    case false: .truth(false)
    case true: right
    case nil: truth(right) == false ? .truth(false) : .unknown
    }
  }

  private func either(_ left: PolkitValue, _ right: PolkitValue) -> PolkitValue {
    switch truth(left) {
    case _ where left == .failure: .failure
    case true: .truth(true)
    case false: right
    case nil: truth(right) == true ? .truth(true) : .unknown
    }
  }

  private func truth(_ value: PolkitValue) -> Bool? {
    switch value {
    case .truth(let truth): truth
    case .text(let text): !text.isEmpty
    case .number(let number): number != 0
    case .list, .otherText, .expression: true
    case .nothing: false
    case .unknown, .failure: nil
    }
  }

  private func compare(_ sign: String, _ left: PolkitValue, _ right: PolkitValue) -> PolkitValue {
    switch sign {
    case "==", "===": return Self.equal(left, right).map { .truth($0) } ?? .unknown
    case "!=", "!==": return Self.equal(left, right).map { .truth(!$0) } ?? .unknown
    default: break
    }
    guard case .number(let a) = left, case .number(let b) = right else { return .unknown }
    switch sign {
    case ">=": return .truth(a >= b)
    case "<=": return .truth(a <= b)
    case ">": return .truth(a > b)
    default: return .truth(a < b)
    }
  }

  private static func equal(_ left: PolkitValue, _ right: PolkitValue) -> Bool? {
    switch (left, right) {
    case (.unknown, _), (_, .unknown), (.failure, _), (_, .failure), (.otherText, .otherText): nil
    default: left == right
    }
  }

  // MARK: What a rule may ask

  private func member(_ object: PolkitScript.Expression, _ name: String, _ scope: Scope) -> PolkitValue {
    if case .name(let owner) = object {
      if owner == scope.action, name == "id" { return .text(question.action) }
      if owner == scope.subject { return subject(name) }
    }
    if case .member(.name("polkit"), "Result") = object { return Self.constants[name].map { .text($0) } ?? .nothing }
    switch (value(object, scope), name) {
    case (.text(let text), "length"): return .number(text.utf16.count)
    case (.list(let items), "length"): return .number(items.count)
    default: return .unknown
    }
  }

  /// The members of `polkit.Result`; any other, NOT_HANDLED too, is no answer.
  private static let constants = [
    "NO": "no", "YES": "yes", "AUTH_SELF": "auth_self", "AUTH_SELF_KEEP": "auth_self_keep",
    "AUTH_ADMIN": "auth_admin", "AUTH_ADMIN_KEEP": "auth_admin_keep",
  ]

  private func subject(_ name: String) -> PolkitValue {
    switch name {
    case "user": question.user.map { .text($0) } ?? .otherText
    case "local": .truth(question.isLocal)
    case "active": .truth(question.isActive)
    case "groups": question.groups.map { .list($0.map { .text($0) }) } ?? .unknown
    default: .unknown
    }
  }

  private func call(
    _ function: PolkitScript.Expression, _ arguments: [PolkitValue], _ scope: Scope
  ) -> PolkitValue {
    guard case .member(let object, let method) = function else { return .unknown }
    if case .name(let owner) = object {
      if owner == scope.subject, method == "isInGroup" { return isIn(question.isInGroup, arguments.first) }
      if owner == scope.subject, method == "isInNetGroup" { return isIn(question.isInNetgroup, arguments.first) }
      if owner == scope.action, method == "lookup" { return lookup(arguments.first) }
    }
    switch value(object, scope) {
    case .text(let text): return Self.text(text, method, arguments.first)
    case .expression(let expression): return Self.expression(expression, method, arguments.first)
    case .list where method == "includes" && !listsInclude: return .failure
    case .list(let items): return Self.list(items, method, arguments.first)
    default: return .unknown
    }
  }

  private func isIn(_ holds: (String) -> Bool?, _ group: PolkitValue?) -> PolkitValue {
    guard case .text(let name) = group else { return .unknown }
    return holds(name).map { .truth($0) } ?? .unknown
  }

  private func lookup(_ key: PolkitValue?) -> PolkitValue {
    guard key == .text("program"), let program = question.program else { return .otherText }
    return .text(program)
  }

  /// A match is some list; what is in it is of no interest to a rule.
  private static func expression(
    _ expression: PolkitExpression, _ method: String, _ argument: PolkitValue?
  ) -> PolkitValue {
    guard case .text(let text) = argument, let found = expression.firstMatch(in: text) else { return .unknown }
    switch method {
    case "test": return .truth(found >= 0)
    case "exec": return found >= 0 ? .list([]) : .nothing
    default: return .unknown
    }
  }

  /// `match` and `search` make an expression of a text.
  private static func search(_ text: String, _ method: String, _ argument: PolkitValue?) -> PolkitValue? {
    guard method == "match" || method == "search" else { return nil }
    let expression: PolkitExpression?
    switch argument {
    case .expression(let given): expression = given
    case .text(let pattern): expression = PolkitExpression(pattern, flags: "")
    default: expression = nil
    }
    guard let found = expression?.firstMatch(in: text) else { return .unknown }
    if method == "search" { return .number(found) }
    return found >= 0 ? .list([]) : .nothing
  }

  private static func text(_ text: String, _ method: String, _ argument: PolkitValue?) -> PolkitValue {
    if let found = search(text, method, argument) { return found }
    switch method {
    case "toLowerCase": return .text(text.lowercased())
    case "toUpperCase": return .text(text.uppercased())
    default: break
    }
    guard case .text(let part) = argument else { return .unknown }
    switch method {
    case "indexOf": return .number(offset(of: part, in: text) ?? -1)
    case "includes": return .truth(offset(of: part, in: text) != nil)
    case "startsWith": return .truth(text.utf8.starts(with: part.utf8))
    case "endsWith": return .truth(text.utf8.reversed().starts(with: part.utf8.reversed()))
    default: return .unknown
    }
  }

  private static func offset(of part: String, in text: String) -> Int? {
    let part = Array(part.utf8)
    let text = Array(text.utf8)
    guard part.count <= text.count else { return nil }
    return (0...(text.count - part.count)).first { text[$0...].starts(with: part) }
  }

  private static func list(_ items: [PolkitValue], _ method: String, _ argument: PolkitValue?) -> PolkitValue {
    guard let argument, argument != .unknown, argument != .failure, !items.contains(.unknown) else { return .unknown }
    switch method {
    case "indexOf": return .number(items.firstIndex(of: argument) ?? -1)
    case "includes": return .truth(items.contains(argument))
    default: return .unknown
    }
  }
}
