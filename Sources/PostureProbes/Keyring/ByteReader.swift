/// Reads fixed-size fields of a binary file, and never past its end.
struct ByteReader {
  private let bytes: [UInt8]
  private(set) var offset: Int

  init(_ bytes: [UInt8], from offset: Int = 0) {
    self.bytes = bytes
    self.offset = offset
  }

  var left: Int { max(0, bytes.count - offset) }
  var rest: ArraySlice<UInt8> { bytes[min(offset, bytes.count)...] }

  mutating func byte() -> UInt8? { take(1)?.first }

  /// nil where fewer are left.
  mutating func take(_ count: Int) -> [UInt8]? {
    guard count >= 0, count <= left else { return nil }
    defer { offset += count }
    return Array(bytes[offset..<offset + count])
  }

  mutating func big16() -> UInt16? { big() }
  mutating func big32() -> UInt32? { big() }
  mutating func big64() -> UInt64? { big() }

  private mutating func big<Number: FixedWidthInteger>() -> Number? {
    take(Number.bitWidth / 8).map { $0.reduce(0) { $0 << 8 | Number($1) } }
  }
}
