/// A wrong command line: shown on standard error with exit status 64.
public struct UsageError: Error, Sendable, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}

/// The words of a command line, taken one by one: `--name value`, `--name=value`, flags, and plain words.
///
/// Each is taken only where it has an effect, so that ``rest(_:_:)`` and ``end()`` find what has none.
public struct Arguments {
  private var words: [String]

  public init(_ words: some Sequence<String>) { self.words = Array(words) }

  /// The first word, if it is no option.
  public mutating func verb() -> String? {
    guard let first = words.first, !first.hasPrefix("-") else { return nil }
    words.removeFirst()
    return first
  }

  public mutating func flag(_ names: String...) -> Bool {
    let before = words.count
    words.removeAll(where: names.contains)
    return words.count < before
  }

  /// The last value given; an option given without one, or with an empty one, is an error.
  public mutating func option(_ name: String) throws(UsageError) -> String? { try options(name).last }

  /// Every value given, in order.
  public mutating func options(_ name: String) throws(UsageError) -> [String] {
    var values: [String] = []
    while let at = words.firstIndex(where: { $0 == name || $0.hasPrefix("\(name)=") }) {
      let word = words.remove(at: at)
      let isApart = word == name
      guard !isApart || at < words.count else { throw UsageError("\(name) needs a value") }
      let value = isApart ? words.remove(at: at) : String(word.dropFirst(name.count + 1))
      guard !value.isEmpty else { throw UsageError("\(name) needs a value") }
      values.append(value)
    }
    return values
  }

  /// A whole number within `range`; nil where the option is not given.
  public mutating func number(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    guard let text = try option(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw UsageError("\(name) needs a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// What is left, plain words only, at least and at most so many.
  public mutating func rest(_ count: ClosedRange<Int>, _ what: String) throws(UsageError) -> [String] {
    if let stranger = words.first(where: { $0.hasPrefix("-") && $0 != "-" }) {
      throw UsageError("\(stranger): unknown, or of no use here")
    }
    guard count.contains(words.count) else {
      if words.count > count.upperBound { throw UsageError("unexpected word \(words[count.upperBound])") }
      throw UsageError("\(what) is missing")
    }
    defer { words = [] }
    return words
  }

  /// Nothing may be left.
  public mutating func end() throws(UsageError) { _ = try rest(0...0, "") }
}
