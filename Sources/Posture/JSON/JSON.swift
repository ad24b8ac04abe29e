/// A JSON value (RFC 8259) as this project reads and writes it: members keep their order, numbers are 64-bit integers.
///
/// Fractions and exponents have no use in any of our messages; ``JSONParser`` keeps them only where it is told to.
public enum JSON: Hashable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// A number that is no 64-bit integer, in its own spelling. Only from foreign documents (``JSONParser/Limits/foreign``).
  case number(String)
  case string(String)
  case array([JSON])
  case object([Member])

  /// One name and value of an object.
  public struct Member: Hashable, Sendable {
    public var name: String
    public var value: JSON

    public init(_ name: String, _ value: JSON) {
      self.name = name
      self.value = value
    }
  }

  /// The member of this name; nil where this is no object or has none.
  public subscript(name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  public var string: String? { if case .string(let value) = self { value } else { nil } }
  public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  public var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
  public var members: [Member]? { if case .object(let value) = self { value } else { nil } }
  public var isNull: Bool { self == .null }

  /// The strings of an array that holds nothing else; nil otherwise.
  public var strings: [String]? {
    guard let values = array else { return nil }
    let strings = values.compactMap(\.string)
    return strings.count == values.count ? strings : nil
  }

  /// A string, or null for nil.
  public static func text(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }
  /// An integer, or null for nil.
  public static func count(_ value: Int?) -> JSON { value.map { .integer(Int64($0)) } ?? .null }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(arrayLiteral elements: JSON...) { self = .array(elements) }
  /// Members in the order of the literal.
  public init(dictionaryLiteral elements: (String, JSON)...) { self = .object(elements.map { Member($0.0, $0.1) }) }
}
