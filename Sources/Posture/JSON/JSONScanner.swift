/// Goes over the text of one JSON document and checks it, without making values of it.
///
/// A zero byte stands for the end: no document has one.
struct JSONScanner {
  private let base: UnsafePointer<UInt8>
  private let count: Int
  private let deepest: Int
  private let anyNumber: Bool
  private(set) var at = 0
  /// The names of the objects that are open, outermost first.
  private var names: [Name] = []
  /// Of objects with many members the texts of their names, by the place of the first in ``names``.
  private var large: [Int: Set<String>] = [:]

  /// A text as it stands in the input, without its quotes.
  struct Spelling {
    var start: Int
    var count: Int
    /// ASCII without escapes: two that differ are two texts.
    var isPlain: Bool
  }

  private struct Name {
    var start: UInt32
    var count: UInt32
    /// Tells nearly all plain texts apart at once: the first seven bytes, and of the length the lowest. ``odd`` of all
    /// others.
    var key: UInt64

    static let odd: UInt64 = 0

    init(_ spelling: Spelling, key: UInt64) {
      (start, count, self.key) = (UInt32(spelling.start), UInt32(spelling.count), key)
    }

    var spelling: Spelling { Spelling(start: Int(start), count: Int(count), isPlain: key != Self.odd || count == 0) }
  }

  /// `input` lives as long as this does. nil where it is empty.
  init?(_ input: UnsafeBufferPointer<UInt8>, _ limits: JSONParser.Limits) {
    guard let base = input.baseAddress, !input.isEmpty else { return nil }
    self.base = base
    count = input.count
    deepest = limits.depth
    anyNumber = limits.anyNumber
    names.reserveCapacity(32)
  }

  func fail(_ code: JSONError.Code) -> JSONError { JSONError(code: code, offset: at) }

  private var byte: UInt8 { at < count ? base[at] : 0 }

  private mutating func take(_ expected: UInt8) -> Bool {
    guard byte == expected else { return false }
    at += 1
    return true
  }

  @inline(__always)
  private mutating func skipSpace() {
    while case let b = byte, b <= 0x20, b == 0x20 || b == 0x0A || b == 0x0D || b == 0x09 { at += 1 }
  }

  // MARK: Values

  /// What begins here.
  enum Kind { case object, array, string, number, word }

  /// Of the value that comes next, at this depth.
  mutating func kind(depth: Int) throws(JSONError) -> Kind {
    guard depth < deepest else { throw fail(.depth) }
    skipSpace()
    switch byte {
    case UInt8(ascii: "\""): return .string
    case UInt8(ascii: "{"): return .object
    case UInt8(ascii: "["): return .array
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): return .word
    default: throw fail(.syntax)
    }
  }

  /// Passes over the next value.
  mutating func pass(depth: Int) throws(JSONError) {
    switch try kind(depth: depth) {
    case .string: _ = try string()
    case .object: try object { scanner, _ throws(JSONError) in try scanner.pass(depth: depth + 1) }
    case .array: try array { scanner throws(JSONError) in try scanner.pass(depth: depth + 1) }
    case .number: _ = try number()
    case .word: _ = try word()
    }
  }

  /// Behind the last value only space is left.
  mutating func end() throws(JSONError) {
    skipSpace()
    guard at == count else { throw fail(.trailing) }
  }

  /// Calls `member` with each name; it has to go over the value.
  @inline(__always)
  mutating func object(
    _ member: (inout JSONScanner, Spelling) throws(JSONError) -> Void
  ) throws(JSONError) {
    at += 1
    skipSpace()
    if take(UInt8(ascii: "}")) { return }
    let first = names.count
    repeat {
      skipSpace()
      guard byte == UInt8(ascii: "\"") else { throw fail(.syntax) }
      let start = at
      let name = try string()
      guard isNew(name, since: first) else { throw JSONError(code: .duplicateMember, offset: start) }
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw fail(.syntax) }
      try member(&self, name)
      skipSpace()
    } while take(UInt8(ascii: ","))
    forget(since: first)
    guard take(UInt8(ascii: "}")) else { throw fail(.syntax) }
  }

  /// Calls `element` before each value; it has to go over it.
  @inline(__always)
  mutating func array(_ element: (inout JSONScanner) throws(JSONError) -> Void) throws(JSONError) {
    at += 1
    skipSpace()
    if take(UInt8(ascii: "]")) { return }
    repeat {
      try element(&self)
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw fail(.syntax) }
  }

  /// nil is null.
  mutating func word() throws(JSONError) -> Bool? {
    switch byte {
    case UInt8(ascii: "t"):
      try take("true")
      return true
    case UInt8(ascii: "f"):
      try take("false")
      return false
    default:
      try take("null")
      return nil
    }
  }

  private mutating func take(_ word: StaticString) throws(JSONError) {
    for index in 0..<word.utf8CodeUnitCount {
      guard take(word.utf8Start[index]) else { throw fail(.syntax) }
    }
  }

  // MARK: Names

  /// A handful of names is compared directly; a set is made only for large objects.
  private static let handful = 24

  /// Whether this is none of the names from `first` on; then it is one of them.
  @inline(__always)
  private mutating func isNew(_ spelling: Spelling, since first: Int) -> Bool {
    let name = Name(spelling, key: key(of: spelling))
    if names.count &- first >= Self.handful {
      guard isNewInLarge(spelling, since: first) else { return false }
    } else {
      for place in first..<names.count where mayBeSame(names[place], name) {
        if isSame(names[place], name) { return false }
      }
    }
    names.append(name)
    return true
  }

  private mutating func isNewInLarge(_ spelling: Spelling, since first: Int) -> Bool {
    if large[first] == nil { large[first] = Set(names[first...].map { text(of: $0.spelling) }) }
    return large[first]!.insert(text(of: spelling)).inserted
  }

  @inline(__always)
  private mutating func forget(since first: Int) {
    if names.count - first >= Self.handful { large[first] = nil }
    names.removeLast(names.count - first)
  }

  @inline(__always)
  private func mayBeSame(_ one: Name, _ other: Name) -> Bool {
    one.key == other.key || one.key == Name.odd || other.key == Name.odd
  }

  @inline(never)
  private func isSame(_ one: Name, _ other: Name) -> Bool {
    if one.key != Name.odd, other.key != Name.odd {
      return bytes(of: one.spelling).elementsEqual(bytes(of: other.spelling))
    }
    return text(of: one.spelling) == text(of: other.spelling)
  }

  private func key(of spelling: Spelling) -> UInt64 {
    guard spelling.isPlain else { return Name.odd }
    let kept = min(spelling.count, 7)
    let letters: UInt64
    if spelling.start &+ 8 <= count {
      letters = eight(at: spelling.start) & (1 &<< (8 &* UInt64(kept)) &- 1)
    } else {
      letters = (0..<kept).reversed().reduce(0) { $0 << 8 | UInt64(base[spelling.start + $1]) }
    }
    return UInt64(truncatingIfNeeded: spelling.count) &<< 56 | letters
  }

  // MARK: Numbers

  private mutating func digits() -> Int {
    let start = at
    while case let b = byte, b >= UInt8(ascii: "0"), b <= UInt8(ascii: "9") { at += 1 }
    return at - start
  }

  /// Of the digits that were just read.
  private func value(of count: Int) -> Int64 {
    UnsafeBufferPointer(start: base + at - count, count: count).reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
  }

  /// nil for one that is no 64-bit integer, where those are allowed.
  mutating func number() throws(JSONError) -> Int64? {
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
    if isInteger, count <= 18 { return isNegative ? -value(of: count) : value(of: count) }
    if isInteger, let value = Int64(text(from: start)) { return value }
    guard anyNumber else { throw JSONError(code: .number, offset: start) }
    return nil
  }

  /// What stands from there up to here.
  func text(from start: Int) -> String {
    String(decoding: UnsafeBufferPointer(start: base + start, count: at - start), as: UTF8.self)
  }

  // MARK: Texts

  /// The text whose first quote is here.
  mutating func string() throws(JSONError) -> Spelling {
    let start = at + 1
    at = plainEnd(from: start)
    let isPlain = byte == UInt8(ascii: "\"")
    if !isPlain { _ = try decoded(from: start) }
    at += 1
    return Spelling(start: start, count: at - 1 - start, isPlain: isPlain)
  }

  func text(of spelling: Spelling) -> String {
    if spelling.isPlain { return String(decoding: bytes(of: spelling), as: UTF8.self) }
    var reader = self
    // It was good before.
    return (try? reader.decoded(from: spelling.start)) ?? ""
  }

  private func bytes(of spelling: Spelling) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: base + spelling.start, count: spelling.count)
  }

  private func eight(at place: Int) -> UInt64 {
    UInt64(littleEndian: UnsafeRawPointer(base + place).loadUnaligned(as: UInt64.self))
  }

  /// Where the first byte is that is not ASCII, ends the text, begins an escape or is forbidden.
  @inline(__always)
  private func plainEnd(from start: Int) -> Int {
    let (ones, tops) = (UInt64(0x0101_0101_0101_0101), UInt64(0x8080_8080_8080_8080))
    var at = start
    while at &+ 8 <= count {
      let eight = eight(at: at)
      let quotes = eight ^ (ones &* UInt64(UInt8(ascii: "\"")))
      let escapes = eight ^ (ones &* UInt64(UInt8(ascii: "\\")))
      // A top bit of a difference is set where the byte was smaller, or by a borrow from such a one before it.
      let found = ((eight &- ones &* 0x20) | (quotes &- ones) | (escapes &- ones) | eight) & tops
      if found != 0 { return at &+ found.trailingZeroBitCount &>> 3 }
      at &+= 8
    }
    while at < count, case let b = base[at], b >= 0x20, b < 0x80, b != UInt8(ascii: "\""), b != UInt8(ascii: "\\") {
      at &+= 1
    }
    return at
  }

  /// Up to the closing quote, whatever it is made of.
  private mutating func decoded(from start: Int) throws(JSONError) -> String {
    at = start
    var out: [UInt8] = []
    while case let b = byte, b != UInt8(ascii: "\"") {
      guard b >= 0x20 else { throw fail(.syntax) }
      at += 1
      if b == UInt8(ascii: "\\") { try escape(into: &out) } else { out.append(b) }
    }
    guard let text = String(validating: out, as: UTF8.self) else { throw fail(.encoding) }
    return text
  }

  private mutating func escape(into out: inout [UInt8]) throws(JSONError) {
    let b = byte
    guard b != 0 else { throw fail(.syntax) }
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
    guard at + 4 <= count else { throw fail(.syntax) }
    var value: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = Character(Unicode.Scalar(base[at])).hexDigitValue else { throw fail(.syntax) }
      value = value << 4 + UInt16(digit)
      at += 1
    }
    return value
  }
}
