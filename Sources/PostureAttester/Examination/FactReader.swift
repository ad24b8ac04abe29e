import Posture

/// Why what an examination says is none of its facts.
struct FactsError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The member that is missing or of another type.
  let member: String
  var description: String { "no facts: \(member)" }
}

/// Members of one object, each of the type that it has to have.
struct FactReader {
  private let json: JSON

  init(_ json: JSON) throws(FactsError) {
    guard json.members != nil else { throw FactsError(member: "object") }
    self.json = json
  }

  func has(_ name: String) -> Bool { json[name] != nil }

  func text(_ name: String) throws(FactsError) -> String {
    guard let text = json[name]?.string else { throw FactsError(member: name) }
    return text
  }

  func optionalText(_ name: String) throws(FactsError) -> String? { has(name) ? try text(name) : nil }

  func word<Word: RawRepresentable<String>>(_ name: String) throws(FactsError) -> Word {
    guard let word = Word(rawValue: try text(name)) else { throw FactsError(member: name) }
    return word
  }

  func optionalWord<Word: RawRepresentable<String>>(_ name: String) throws(FactsError) -> Word? {
    has(name) ? try word(name) : nil
  }

  func words<Word: RawRepresentable<String>>(_ name: String) throws(FactsError) -> [Word] {
    var words: [Word] = []
    for item in try array(name) {
      guard let word = item.string.flatMap(Word.init(rawValue:)) else { throw FactsError(member: name) }
      words.append(word)
    }
    return words
  }

  func flag(_ name: String) throws(FactsError) -> Bool {
    guard let flag = json[name]?.bool else { throw FactsError(member: name) }
    return flag
  }

  func optionalFlag(_ name: String) throws(FactsError) -> Bool? { has(name) ? try flag(name) : nil }

  func optionalNumber<Number: FixedWidthInteger>(_ name: String) throws(FactsError) -> Number? {
    guard let value = json[name] else { return nil }
    guard let number = value.integer.flatMap(Number.init(exactly:)) else { throw FactsError(member: name) }
    return number
  }

  func members(_ name: String) throws(FactsError) -> [JSON.Member] {
    guard let members = json[name]?.members else { throw FactsError(member: name) }
    return members
  }

  func array(_ name: String) throws(FactsError) -> [JSON] {
    guard let array = json[name]?.array else { throw FactsError(member: name) }
    return array
  }

  func strings(_ name: String) throws(FactsError) -> [String] {
    guard let strings = json[name]?.strings else { throw FactsError(member: name) }
    return strings
  }

  func list<Value>(_ name: String, _ make: (FactReader) throws(FactsError) -> Value) throws(FactsError) -> [Value] {
    var values: [Value] = []
    for json in try array(name) { values.append(try make(FactReader(json))) }
    return values
  }

  func one<Value>(_ name: String, _ make: (FactReader) throws(FactsError) -> Value) throws(FactsError) -> Value {
    guard let value = json[name] else { throw FactsError(member: name) }
    return try make(FactReader(value))
  }

  func optional<Value>(
    _ name: String, _ make: (FactReader) throws(FactsError) -> Value
  ) throws(FactsError) -> Value? {
    has(name) ? try one(name, make) : nil
  }
}
