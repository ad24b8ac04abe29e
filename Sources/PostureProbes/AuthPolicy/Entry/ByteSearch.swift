/// Looks for a text in a program's bytes, or in a large file's.
enum ByteSearch {
  static func contains(_ bytes: [UInt8], _ text: String) -> Bool { first(bytes, Array(text.utf8), from: 0) != nil }

  /// Where the line begins that is this text and nothing else.
  static func firstLine(_ bytes: [UInt8], _ text: String) -> Int? {
    let line = Array("\(text)\n".utf8)
    if bytes.starts(with: line) { return 0 }
    return first(bytes, [UInt8(ascii: "\n")] + line, from: 0).map { $0 + 1 }
  }

  private static func first(_ bytes: [UInt8], _ needle: [UInt8], from start: Int) -> Int? {
    guard let rarest = needle.last, bytes.count >= needle.count else { return nil }
    let width = needle.count
    return bytes.withUnsafeBufferPointer { bytes in
      needle.withUnsafeBufferPointer { needle in
        var at = start
        while at + width <= bytes.count {
          if bytes[at + width - 1] == rarest, bytes[at] == needle[0], bytes[at + width / 2] == needle[width / 2],
            (0..<width).allSatisfy({ bytes[at + $0] == needle[$0] })
          {
            return at
          }
          at += 1
        }
        return nil
      }
    }
  }
}
