/// Strict RFC 8259 parser: UTF-8 only, no duplicate member at any depth, bounded depth and size.
///
/// Common JSON libraries take the last of two members of one name, so that two readers of one signed text may see two
/// different messages; here a duplicate is an error.
public struct JSONParser {
  private let input: UnsafeBufferPointer<UInt8>
  private let limits: Limits
  private var at = 0
  /// The names of the objects that are open, outermost first.
  private var names: [Spelling] = []
  /// The text that was read last.
  private var last = Spelling(start: 0, count: 0, isPlain: true)
  /// What is read now is checked and not kept.
  private var isPassing = false

  /// Where a text stands in the input, without its quotes.
  private struct Spelling {
    var start: Int
    var count: Int
    /// ASCII without escapes: two that differ are two texts.
    var isPlain: Bool
    /// Its first eight bytes, zeros behind the end: tells nearly all of them apart at once.
    var head: UInt64 = 0
  }

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

  /// `only`: the members that are kept where it is an object; nil: all.
  private mutating func value(depth: Int, only: [String]? = nil) throws(JSONError) -> JSON {
    guard depth < limits.depth else { throw fail(.depth) }
    skipSpace()
    guard let byte else { throw fail(.syntax) }
    switch byte {
    case UInt8(ascii: "{"): return try object(depth: depth, only: only)
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

  private mutating func object(depth: Int, only: [String]?) throws(JSONError) -> JSON {
    at += 1
    skipSpace()
    if take(UInt8(ascii: "}")) { return .object([]) }
    var members: [JSON.Member] = []
    // Most of our objects have several members; growing from one to four would allocate three times.
    if !isPassing { members.reserveCapacity(4) }
    let wasPassing = isPassing
    let first = names.count
    var large = Set<String>()
    repeat {
      skipSpace()
      guard byte == UInt8(ascii: "\"") else { throw fail(.syntax) }
      let start = at
      let name = try string()
      guard isNew(since: first, &large) else { throw JSONError(code: .duplicateMember, offset: start) }
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw fail(.syntax) }
      if let only { isPassing = wasPassing || !only.contains(name) }
      let value = try value(depth: depth + 1, only: depth == 0 ? excerpt(of: name) : nil)
      if !isPassing { members.append(JSON.Member(name, value)) }
      isPassing = wasPassing
      skipSpace()
    } while take(UInt8(ascii: ","))
    names.removeLast(names.count - first)
    guard take(UInt8(ascii: "}")) else { throw fail(.syntax) }
    return .object(members)
  }

  private func excerpt(of name: String) -> [String]? {
    limits.excerpt.flatMap { $0.of == name ? $0.members : nil }
  }

  /// Whether the text that was just read is none of the names from `first` on; then it is one of them.
  private mutating func isNew(since first: Int, _ large: inout Set<String>) -> Bool {
    let new = last
    // A handful of names is compared directly; a set is made only for large objects.
    if names.count - first >= 24 {
      if large.isEmpty { large = Set(names[first...].map(text)) }
      guard large.insert(text(of: new)).inserted else { return false }
    } else {
      for place in first..<names.count where isSame(names[place], new) { return false }
    }
    names.append(new)
    return true
  }

  private func isSame(_ one: Spelling, _ other: Spelling) -> Bool {
    guard one.isPlain, other.isPlain else { return text(of: one) == text(of: other) }
    guard one.count == other.count, one.head == other.head else { return false }
    guard one.count > 8 else { return true }
    return input[one.start..<one.start + one.count].elementsEqual(input[other.start..<other.start + other.count])
  }

  /// What it spells, which was found good before.
  private func text(of spelling: Spelling) -> String {
    var reader = JSONParser(input: input, limits: limits)
    reader.at = spelling.start - 1
    return (try? reader.string()) ?? ""
  }

  private mutating func array(depth: Int) throws(JSONError) -> JSON {
    at += 1
    var values: [JSON] = []
    skipSpace()
    if take(UInt8(ascii: "]")) { return .array([]) }
    repeat {
      let value = try value(depth: depth + 1)
      if !isPassing { values.append(value) }
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
    skipPlain()
    var seen: UInt8 = 0
    while let b = byte, b != UInt8(ascii: "\""), b != UInt8(ascii: "\\"), b >= 0x20 {
      seen |= b
      at += 1
    }
    last = Spelling(start: start, count: at - start, isPlain: seen < 0x80, head: head(from: start))
    if byte == UInt8(ascii: "\"") {
      defer { at += 1 }
      // ASCII is always valid, and most texts are no more; the check of the rest goes a slow way in the library.
      if isPassing, seen < 0x80 { return "" }
      let bytes = UnsafeBufferPointer(rebasing: input[start..<at])
      return seen < 0x80 ? String(decoding: bytes, as: UTF8.self) : try text(bytes)
    }
    last.isPlain = false
    var out = Array(input[start..<at])
    while let b = byte, b != UInt8(ascii: "\"") {
      guard b >= 0x20 else { throw fail(.syntax) }
      at += 1
      if b == UInt8(ascii: "\\") { try escape(into: &out) } else { out.append(b) }
    }
    guard take(UInt8(ascii: "\"")) else { throw fail(.syntax) }
    return try text(out)
  }

  /// The bytes from `start` up to here, eight at most, the first of them lowest.
  private func head(from start: Int) -> UInt64 {
    let count = at - start
    if count >= 8 || start + 8 <= input.count {
      let eight = eight(at: start)
      return count >= 8 ? eight : eight & (1 << (8 * UInt64(count)) - 1)
    }
    return input[start..<at].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private func eight(at place: Int) -> UInt64 {
    UInt64(littleEndian: UnsafeRawPointer(input.baseAddress! + place).loadUnaligned(as: UInt64.self))
  }

  /// Goes on by eights to the first byte that is not ASCII, ends the text, begins an escape or is forbidden.
  private mutating func skipPlain() {
    let (ones, tops) = (UInt64(0x0101_0101_0101_0101), UInt64(0x8080_8080_8080_8080))
    while at + 8 <= input.count {
      let eight = eight(at: at)
      let quotes = eight ^ (ones &* UInt64(UInt8(ascii: "\"")))
      let escapes = eight ^ (ones &* UInt64(UInt8(ascii: "\\")))
      // A top bit of a difference is set where the byte was smaller, or by a borrow from such a one before it.
      let found = ((eight &- ones &* 0x20) | (quotes &- ones) | (escapes &- ones) | eight) & tops
      at += found == 0 ? 8 : found.trailingZeroBitCount / 8
      if found != 0 { return }
    }
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
