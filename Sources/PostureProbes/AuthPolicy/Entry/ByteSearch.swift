/// Looks for a text in a program's bytes.
enum ByteSearch {
  static func contains(_ bytes: [UInt8], _ text: String) -> Bool {
    let needle = Array(text.utf8)
    guard let first = needle.first, bytes.count >= needle.count else { return false }
    var start = 0
    while let found = bytes[start...].firstIndex(of: first), found + needle.count <= bytes.count {
      if bytes[found..<(found + needle.count)].elementsEqual(needle) { return true }
      start = found + 1
    }
    return false
  }
}
