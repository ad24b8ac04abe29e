import CLinux

/// Looks for a text in a program's bytes, or in a large file's.
enum ByteSearch {
  static func contains(_ bytes: [UInt8], _ text: String) -> Bool { first(bytes[...], Array(text.utf8)) != nil }

  /// Where the lines go on that begin with this text.
  static func lines(_ bytes: [UInt8], beginning text: String) -> [Int] {
    let label = Array(text.utf8)
    let needle = [UInt8(ascii: "\n")] + label
    var found = bytes.starts(with: label) ? [label.count] : []
    var place = 0
    while let next = first(bytes[place...], needle) {
      place = next + needle.count
      found.append(place)
    }
    return found
  }

  private static func first(_ bytes: ArraySlice<UInt8>, _ needle: [UInt8]) -> Int? {
    let at = bytes.withUnsafeBufferPointer { clinux_find($0.baseAddress, $0.count, needle, needle.count) }
    return at < 0 ? nil : bytes.startIndex + at
  }
}
