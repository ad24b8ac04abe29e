/// A GVariant database file (gvdb), as dconf and GSettings compile their keys into.
///
/// Header: signature of 8 bytes, version, options, then a pointer to the root hash table. A table has a bloom filter,
/// buckets and items; an item of type "v" holds a serialised variant, one of type "H" a table, "L" a list.
struct GVDB: Sendable {
  private let bytes: [UInt8]
  private let isSwapped: Bool
  private let root: Range<Int>

  /// nil where the bytes are no such database.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= 24 else { return nil }
    let signature = String(decoding: bytes[0..<8], as: UTF8.self)
    guard signature == "GVariant" || signature == "raVGtnai" else { return nil }
    self.bytes = bytes
    isSwapped = signature == "raVGtnai"
    let start = Self.number(bytes, 16, isSwapped)
    let end = Self.number(bytes, 20, isSwapped)
    guard start <= end, end <= bytes.count, start % 4 == 0 else { return nil }
    root = start..<end
  }

  private static func number(_ bytes: [UInt8], _ at: Int, _ isSwapped: Bool) -> Int {
    guard at >= 0, at + 4 <= bytes.count else { return 0 }
    let value = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[at + $1]) << (8 * UInt32($1)) }
    return Int(isSwapped ? value.byteSwapped : value)
  }

  private func number(_ at: Int) -> Int { Self.number(bytes, at, isSwapped) }

  private struct Item {
    var hash: UInt32
    var parent: Int
    var key: Range<Int>
    var type: UInt8
    var value: Range<Int>
  }

  private struct Table {
    /// Offset of the first item.
    var items: Int
    var count: Int
  }

  private func table(_ range: Range<Int>) -> Table? {
    guard range.count >= 8 else { return nil }
    let bloom = number(range.lowerBound) & ((1 << 27) - 1)
    let buckets = number(range.lowerBound + 4)
    let start = range.lowerBound + 8 + 4 * bloom + 4 * buckets
    guard bloom < bytes.count, buckets < bytes.count, start <= range.upperBound else { return nil }
    return Table(items: start, count: (range.upperBound - start) / 24)
  }

  private func item(_ table: Table, _ index: Int) -> Item? {
    let at = table.items + 24 * index
    guard index < table.count, at + 24 <= bytes.count else { return nil }
    let key = number(at + 8)
    let size = Int(bytes[at + 12]) | Int(bytes[at + 13]) << 8
    let keySize = isSwapped ? Int(UInt16(size).byteSwapped) : size
    let start = number(at + 16)
    let end = number(at + 20)
    guard key + keySize <= bytes.count, start <= end, end <= bytes.count else { return nil }
    return Item(
      hash: UInt32(truncatingIfNeeded: number(at)), parent: number(at + 4), key: key..<(key + keySize),
      type: bytes[at + 14], value: start..<end)
  }

  /// djb's hash over signed characters, as gvdb takes it.
  private static func hash(_ key: [UInt8]) -> UInt32 {
    key.reduce(5381) { $0 &* 33 &+ UInt32(bitPattern: Int32(Int8(bitPattern: $1))) }
  }

  /// The item with this whole key. Items keep only what follows their parent's key.
  private func find(_ key: String, in table: Table) -> Item? {
    let wanted = Array(key.utf8)
    let hash = Self.hash(wanted)
    for index in 0..<table.count {
      guard let item = item(table, index), item.hash == hash, matches(item, wanted, table) else { continue }
      return item
    }
    return nil
  }

  private func matches(_ item: Item, _ key: [UInt8], _ table: Table) -> Bool {
    var rest = key[...]
    var item = item
    // A ring of parents ends with the key that each step has to take something from.
    for _ in 0...key.count {
      let part = bytes[item.key]
      guard rest.count >= part.count, rest.suffix(part.count).elementsEqual(part) else { return false }
      rest = rest.dropLast(part.count)
      if item.parent == 0xFFFF_FFFF { return rest.isEmpty }
      guard let parent = self.item(table, item.parent) else { return false }
      item = parent
    }
    return false
  }

  // MARK: What callers ask

  /// The variant of a key: its type string and its data; nil where there is none.
  func value(_ key: String, table name: String? = nil) -> (type: String, data: [UInt8])? {
    guard var table = table(root) else { return nil }
    if let name {
      guard let item = find(name, in: table), item.type == UInt8(ascii: "H"), let inner = self.table(item.value) else {
        return nil
      }
      table = inner
    }
    guard let item = find(key, in: table), item.type == UInt8(ascii: "v") else { return nil }
    return variant(bytes[item.value])
  }

  /// Whether a table of this name has this key.
  func contains(_ key: String, table name: String) -> Bool {
    guard let outer = table(root), let item = find(name, in: outer), item.type == UInt8(ascii: "H"),
      let inner = table(item.value)
    else { return false }
    return find(key, in: inner) != nil
  }

  /// A serialised variant ends with a zero and its type string.
  private func variant(_ data: ArraySlice<UInt8>) -> (type: String, data: [UInt8])? {
    guard let zero = data.lastIndex(of: 0) else { return nil }
    return (String(decoding: data[(zero + 1)...], as: UTF8.self), Array(data[..<zero]))
  }

  /// What a desktop's own override puts in the place of a schema's default: beside it stands a dictionary of variants by
  /// the desktop's name, all of it at multiples of eight bytes.
  func override(
    _ variant: (type: String, data: [UInt8]), of desktop: String
  ) -> (type: String, data: [UInt8])? {
    guard variant.type.contains("a{sv}"), let letter = variant.type.drop(while: { $0 == "(" }).utf8.first else {
      return nil
    }
    let name = Array(desktop.utf8) + [0]
    let size = letter == UInt8(ascii: "b") ? 1 : 4
    for start in stride(from: 8, to: variant.data.count, by: 8) where variant.data[start...].starts(with: name) {
      let value = (start + name.count + 7) & ~7
      // The value, a zero, its type.
      guard value + size + 2 <= variant.data.count, variant.data[value + size] == 0,
        variant.data[value + size + 1] == letter
      else { continue }
      return (String(UnicodeScalar(letter)), Array(variant.data[value..<value + size]))
    }
    return nil
  }

  func boolean(_ variant: (type: String, data: [UInt8])) -> Bool? {
    guard variant.type == "b" || variant.type.hasPrefix("(b"), let first = variant.data.first else { return nil }
    return first != 0
  }

  /// "u" and "i", also as the first member of a schema's tuple.
  func integer(_ variant: (type: String, data: [UInt8])) -> Int? {
    let letter = variant.type.drop { $0 == "(" }.first
    guard letter == "u" || letter == "i", variant.data.count >= 4 else { return nil }
    let value = UInt32(truncatingIfNeeded: Self.number(variant.data, 0, isSwapped))
    return letter == "u" ? Int(value) : Int(Int32(bitPattern: value))
  }
}
