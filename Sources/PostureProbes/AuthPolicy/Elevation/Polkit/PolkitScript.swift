/// The small part of JavaScript that rules of polkit are commonly written in.
enum PolkitScript {
  indirect enum Expression: Hashable, Sendable {
    case value(PolkitValue)
    case name(String)
    case member(Expression, String)
    case call(Expression, [Expression])
    case list([Expression])
    case not(Expression)
    case negative(Expression)
    case both(Expression, Expression)
    case either(Expression, Expression)
    case compare(String, Expression, Expression)
    case choice(Expression, Expression, Expression)
  }

  indirect enum Statement: Hashable, Sendable {
    case branch(Expression, [Statement], [Statement])
    case result(Expression?)
    case declare(String, Expression)
    case evaluate(Expression)
    /// Cases in order; each runs on into the next until `leave`.
    case choose(Expression, [Case])
    case leave
  }

  struct Case: Hashable, Sendable {
    /// nil for `default`.
    var match: Expression?
    var body: [Statement]
  }

  /// Methods that change their list.
  static let changing: Set = ["push", "pop", "shift", "unshift", "splice", "fill"]

  /// A function with the names of its parameters.
  struct Function: Hashable, Sendable {
    var parameters: [String]
    var body: [Statement]
    /// Not all of its text is read: what has no known value may be due to that.
    var isGuessed = false
  }
}

/// A value while a rule runs.
enum PolkitValue: Hashable, Sendable {
  case text(String)
  case number(Int)
  case truth(Bool)
  case list([PolkitValue])
  case expression(PolkitExpression)
  /// null and undefined.
  case nothing
  /// Some text that no literal of the rule equals.
  case otherText
  /// An error that ends the rules.
  case failure
  /// Cannot be told.
  case unknown
}
