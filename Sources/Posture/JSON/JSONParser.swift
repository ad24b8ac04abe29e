/// Why a text is not JSON as we accept it, and at which byte.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: String, Sendable {
    case syntax, trailing, depth, tooLarge, number, encoding, duplicateMember
  }
  public let code: Code
  /// Offset of the offending byte.
  public let offset: Int

  public var description: String { "not acceptable JSON (\(code.rawValue) at byte \(offset))" }
}

/// Strict RFC 8259 parser: UTF-8 only, no duplicate member at any depth, bounded depth and size.
///
/// Common JSON libraries take the last of two members of one name, so that two readers of one signed text may see two
/// different messages; here a duplicate is an error.
public struct JSONParser {
  public struct Limits: Sendable {
    public var bytes: Int
    public var depth: Int
    /// Keep numbers that are no 64-bit integers as ``JSON/number(_:)`` instead of refusing them.
    public var anyNumber: Bool

    public init(bytes: Int, depth: Int, anyNumber: Bool = false) {
      self.bytes = bytes
      self.depth = depth
      self.anyNumber = anyNumber
    }

    /// Our own signed messages.
    public static let message = Limits(bytes: 65_536, depth: 16)
    /// Output of the system's tools, LUKS headers and the like.
    public static let foreign = Limits(bytes: 8 << 20, depth: 64, anyNumber: true)
  }

  private let input: UnsafeBufferPointer<UInt8>
  private let limits: Limits
  private var at = 0

  /// The one value that `bytes` hold.
  public static func parse(_ bytes: [UInt8], limits: Limits = .message) throws(JSONError) -> JSON {
    guard bytes.count <= limits.bytes else { throw JSONError(code: .tooLarge, offset: limits.bytes) }
    let result: Result<JSON, JSONError> = bytes.withUnsafeBufferPointer { buffer in
      var parser = JSONParser(input: buffer, limits: limits)
      do throws(JSONError) { return .success(try parser.document()) } catch { return .failure(error) }
    }
    return try result.get()
  }

  public static func parse(_ text: String, limits: Limits = .message) throws(JSONError) -> JSON {
    try parse(Array(text.utf8), limits: limits)
  }

  private init(input: UnsafeBufferPointer<UInt8>, limits: Limits) {
    self.input = input
    self.limits = limits
  }

  private func fail(_ code: JSONError.Code) -> JSONError { JSONError(code: code, offset: at) }

  private var byte: UInt8? { at < input.count ? input[at] : nil }

  private mutating func skipSpace() {
    while let b = byte, b == 0x20 || b == 0x0A || b == 0x0D || b == 0x09 { at += 1 }
  }

  private mutating func take(_ expected: UInt8) -> Bool {
    guard byte == expected else { return false }
    at += 1
    return true
  }

  private mutating func document() throws(JSONError) -> JSON {
    let result = try value(depth: 0)
    skipSpace()
    guard at == input.count else { throw fail(.trailing) }
    return result
  }

  private mutating func value(depth: Int) throws(JSONError) -> JSON {
    guard depth < limits.depth else { throw fail(.depth) }
    skipSpace()
    guard let byte else { throw fail(.syntax) }
    switch byte {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    default: throw fail(.syntax)
    }
  }

  private mutating func word(_ spelling: StaticString, _ value: JSON) throws(JSONError) -> JSON {
    for index in 0..<spelling.utf8CodeUnitCount {
      guard take(spelling.utf8Start[index]) else { throw fail(.syntax) }
    }
    return value
  }

  private mutating func object(depth: Int) throws(JSONError) -> JSON {
    at += 1
    var members: [JSON.Member] = []
    var names = Set<String>()
    skipSpace()
    if take(UInt8(ascii: "}")) { return .object([]) }
    // Most of our objects have several members; growing from one to four would allocate three times.
    members.reserveCapacity(4)
    repeat {
      skipSpace()
      guard byte == UInt8(ascii: "\"") else { throw fail(.syntax) }
      let start = at
      let name = try string()
      // A handful of names is compared directly; a set is made only for large objects.
      let isNew = members.count < 24 ? !members.contains { $0.name == name } : insert(name, into: &names, members)
      guard isNew else { throw JSONError(code: .duplicateMember, offset: start) }
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw fail(.syntax) }
      members.append(JSON.Member(name, try value(depth: depth + 1)))
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw fail(.syntax) }
    return .object(members)
  }

  private func insert(_ name: String, into names: inout Set<String>, _ members: [JSON.Member]) -> Bool {
    if names.isEmpty { names = Set(members.map(\.name)) }
    return names.insert(name).inserted
  }

  private mutating func array(depth: Int) throws(JSONError) -> JSON {
    at += 1
    var values: [JSON] = []
    skipSpace()
    if take(UInt8(ascii: "]")) { return .array([]) }
    repeat {
      values.append(try value(depth: depth + 1))
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw fail(.syntax) }
    return .array(values)
  }

  // MARK: Numbers

  private mutating func digits() -> Int {
    let start = at
    while let b = byte, b >= UInt8(ascii: "0"), b <= UInt8(ascii: "9") { at += 1 }
    return at - start
  }

  /// Of the digits that were just read.
  private func value(of count: Int) -> Int64 {
    input[(at - count)..<at].reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
  }

  private mutating func number() throws(JSONError) -> JSON {
    let start = at
    let isNegative = take(UInt8(ascii: "-"))
    let first = byte
    let count = digits()
    guard count == 1 || (count > 1 && first != UInt8(ascii: "0")) else { throw fail(.syntax) }
    var isInteger = !(isNegative && first == UInt8(ascii: "0"))
    if take(UInt8(ascii: ".")) {
      isInteger = false
      guard digits() > 0 else { throw fail(.syntax) }
    }
    if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
      isInteger = false
      at += 1
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      guard digits() > 0 else { throw fail(.syntax) }
    }
    // Eighteen digits always fit; no text has to be made of them.
    if isInteger, count <= 18 { return .integer(isNegative ? -value(of: count) : value(of: count)) }
    let spelling = String(decoding: input[start..<at], as: UTF8.self)
    if isInteger, let value = Int64(spelling) { return .integer(value) }
    guard limits.anyNumber else { throw JSONError(code: .number, offset: start) }
    return .number(spelling)
  }

  // MARK: Strings

  private mutating func string() throws(JSONError) -> String {
    at += 1
    let start = at
    var seen: UInt8 = 0
    while let b = byte, b != UInt8(ascii: "\""), b != UInt8(ascii: "\\"), b >= 0x20 {
      seen |= b
      at += 1
    }
    if byte == UInt8(ascii: "\"") {
      defer { at += 1 }
      let bytes = UnsafeBufferPointer(rebasing: input[start..<at])
      // ASCII is always valid, and most texts are no more; the check of the rest goes a slow way in the library.
      return seen < 0x80 ? String(decoding: bytes, as: UTF8.self) : try text(bytes)
    }
    var out = Array(input[start..<at])
    while let b = byte, b != UInt8(ascii: "\"") {
      guard b >= 0x20 else { throw fail(.syntax) }
      at += 1
      if b == UInt8(ascii: "\\") { try escape(into: &out) } else { out.append(b) }
    }
    guard take(UInt8(ascii: "\"")) else { throw fail(.syntax) }
    return try text(out)
  }

  private func text(_ bytes: some Collection<UInt8>) throws(JSONError) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw fail(.encoding) }
    return text
  }

  private mutating func escape(into out: inout [UInt8]) throws(JSONError) {
    guard let b = byte else { throw fail(.syntax) }
    at += 1
    switch b {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): out.append(b)
    case UInt8(ascii: "b"): out.append(0x08)
    case UInt8(ascii: "f"): out.append(0x0C)
    case UInt8(ascii: "n"): out.append(0x0A)
    case UInt8(ascii: "r"): out.append(0x0D)
    case UInt8(ascii: "t"): out.append(0x09)
    case UInt8(ascii: "u"): out += Array(String(try escapedScalar()).utf8)
    default: throw fail(.syntax)
    }
  }

  private mutating func escapedScalar() throws(JSONError) -> Character {
    let high = try codeUnit()
    var value = UInt32(high)
    if (0xD800...0xDBFF).contains(high) {
      guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw fail(.encoding) }
      let low = try codeUnit()
      guard (0xDC00...0xDFFF).contains(low) else { throw fail(.encoding) }
      value = 0x10000 + (UInt32(high) - 0xD800) << 10 + (UInt32(low) - 0xDC00)
    }
    guard let scalar = Unicode.Scalar(value) else { throw fail(.encoding) }
    return Character(scalar)
  }

  private mutating func codeUnit() throws(JSONError) -> UInt16 {
    guard at + 4 <= input.count else { throw fail(.syntax) }
    var value: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = Character(Unicode.Scalar(input[at])).hexDigitValue else { throw fail(.syntax) }
      value = value << 4 + UInt16(digit)
      at += 1
    }
    return value
  }
}
