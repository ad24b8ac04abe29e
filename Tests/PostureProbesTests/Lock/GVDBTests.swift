import TestKit
import Testing

@testable import PostureProbes

struct GVDBTests {
  @Test(arguments: [false, true])
  func `values, tables and locks in both byte orders`(_ isSwapped: Bool) throws {
    var writer = GVDBWriter(isSwapped: isSwapped)
    writer.values = [
      ("/org/gnome/desktop/session/idle-delay", "u", [0x2C, 1, 0, 0]),
      ("/org/gnome/desktop/screensaver/lock-enabled", "b", [1]),
    ]
    writer.locks = ["/org/gnome/desktop/session/idle-delay"]
    let database = try #require(GVDB(writer.bytes))
    let delay = try #require(database.value("/org/gnome/desktop/session/idle-delay"))
    #expect(database.integer(delay) == (isSwapped ? 0x2C01_0000 : 300))
    #expect(database.value("/org/gnome/desktop/screensaver/lock-enabled").flatMap(database.boolean) == true)
    #expect(database.value("/org/gnome") == nil)
    #expect(database.contains("/org/gnome/desktop/session/idle-delay", table: ".locks"))
    #expect(!database.contains("/org/gnome/desktop/screensaver/lock-enabled", table: ".locks"))
  }

  @Test func `a desktop's own override of a default`() throws {
    let database = try #require(GVDB(GVDBWriter().bytes))
    // 300; ('d', {"GNOME": <uint32 0>}), as glib-compile-schemas writes it.
    let data: [UInt8] =
      [0x2C, 1, 0, 0, 0, 0, 0, 0, UInt8(ascii: "d"), 0, 0, 0, 0, 0, 0, 0] + Array("GNOME".utf8) + [0, 0, 0]
      + [0, 0, 0, 0, 0, UInt8(ascii: "u"), 6, 15]
    let variant = (type: "(u(ya{sv}))", data: data)
    #expect(database.integer(variant) == 300)
    #expect(database.override(variant, of: "GNOME").flatMap(database.integer) == 0)
    #expect(database.override(variant, of: "ubuntu") == nil)
    #expect(database.override(("(u)", data), of: "GNOME") == nil)
    for count in data.indices { _ = database.override((variant.type, Array(data[..<count])), of: "GNOME") }
  }

  @Test func `what is no database is none`() {
    #expect(GVDB([]) == nil)
    #expect(GVDB(Array("GVariant".utf8)) == nil)
    #expect(GVDB([UInt8](repeating: 0xFF, count: 4096)) == nil)
    #expect(GVDB(Array("GVariant".utf8) + [UInt8](repeating: 0xFF, count: 64)) == nil)
  }

  @Test func `every damaged byte is survived`() {
    var writer = GVDBWriter()
    writer.values = [("/a/b", "b", [1]), ("/a/c", "u", [1, 2, 3, 4])]
    writer.locks = ["/a/b"]
    let bytes = writer.bytes
    for position in bytes.indices {
      for value: UInt8 in [0, 1, 0x7F, 0xFF] {
        var damaged = bytes
        damaged[position] = value
        let database = GVDB(damaged)
        _ = database?.value("/a/b").map { ($0, database?.boolean($0), database?.integer($0)) }
        _ = database?.contains("/a/b", table: ".locks")
      }
      _ = GVDB(Array(bytes[..<position]))?.value("/a/c")
    }
  }
}

/// Writes databases as gvdb-builder lays them out: a flat table, every key whole, and a table of locks.
struct GVDBWriter {
  var values: [(key: String, type: String, data: [UInt8])] = []
  var locks: [String] = []
  var isSwapped = false

  init(isSwapped: Bool = false) { self.isSwapped = isSwapped }

  private func word(_ value: UInt32) -> [UInt8] {
    let value = isSwapped ? value.byteSwapped : value
    return (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) }
  }

  private func hash(_ key: String) -> UInt32 {
    key.utf8.reduce(5381) { $0 &* 33 &+ UInt32(bitPattern: Int32(Int8(bitPattern: $1))) }
  }

  var bytes: [UInt8] {
    var body: [UInt8] = []
    let start = 24
    let rows = values.map { ($0.key, UInt8(ascii: "v")) } + (locks.isEmpty ? [] : [(".locks", UInt8(ascii: "H"))])
    let size = 8 + 4 + 24 * rows.count
    var tail: [UInt8] = []
    let tailStart = start + size
    var items: [UInt8] = []
    for (index, row) in rows.enumerated() {
      let keyStart = tailStart + tail.count
      tail += Array(row.0.utf8)
      while (tailStart + tail.count) % 8 != 0 { tail.append(0) }
      let valueStart = tailStart + tail.count
      tail += index < values.count ? values[index].data + [0] + Array(values[index].type.utf8) : lockTable(valueStart)
      items += item(row.0, keyStart, row.1, valueStart, tailStart + tail.count)
      // The locked names lie behind their table.
      if index >= values.count { tail += locks.flatMap { Array($0.utf8) } }
    }
    body += word(0) + word(1) + word(0) + items + tail
    return Array((isSwapped ? "raVGtnai" : "GVariant").utf8) + word(0) + word(0) + word(24) + word(UInt32(tailStart))
      + body
  }

  private func item(_ key: String, _ keyStart: Int, _ type: UInt8, _ start: Int, _ end: Int) -> [UInt8] {
    let size = UInt16(key.utf8.count)
    let low = UInt8(truncatingIfNeeded: size)
    let high = UInt8(truncatingIfNeeded: size >> 8)
    return word(hash(key)) + word(0xFFFF_FFFF) + word(UInt32(keyStart)) + (isSwapped ? [high, low] : [low, high])
      + [type, 0] + word(UInt32(start)) + word(UInt32(end))
  }

  /// A table at `start` whose items are the locked keys.
  private func lockTable(_ start: Int) -> [UInt8] {
    var items: [UInt8] = []
    var nameStart = start + 12 + 24 * locks.count
    for lock in locks {
      items += item(lock, nameStart, UInt8(ascii: "v"), nameStart, nameStart)
      nameStart += lock.utf8.count
    }
    return word(0) + word(1) + word(0) + items
  }
}
