import CLinux

/// Looks for a text in a program's bytes, or in a large file's.
enum ByteSearch {
  static func contains(_ bytes: [UInt8], _ text: String) -> Bool { first(bytes, Array(text.utf8)) != nil }

  /// Where the line begins that is this text and nothing else.
  static func firstLine(_ bytes: [UInt8], _ text: String) -> Int? {
    let line = Array("\(text)\n".utf8)
    if bytes.starts(with: line) { return 0 }
    return first(bytes, [UInt8(ascii: "\n")] + line).map { $0 + 1 }
  }

  private static func first(_ bytes: [UInt8], _ needle: [UInt8]) -> Int? {
    let at = clinux_find(bytes, bytes.count, needle, needle.count)
    return at < 0 ? nil : at
  }
}
