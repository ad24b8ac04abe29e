extension StringProtocol where SubSequence == Substring {
  /// Lines as programs read them: each ends at a line feed, whatever stands before it. As characters of Swift, a carriage
  /// return and a line feed are one, which is none of the two.
  func lines(keepsEmpty: Bool = false, most: Int = .max) -> [Substring] {
    Substring(self).utf8.split(
      separator: UInt8(ascii: "\n"), maxSplits: most, omittingEmptySubsequences: !keepsEmpty
    ).map { Substring($0) }
  }
}

extension StringProtocol {
  /// Without blanks and ends of lines at both ends.
  var trimmed: String {
    let bytes = utf8
    var start = bytes.startIndex
    var end = bytes.endIndex
    while start < end, Self.isBlank(bytes[start]) { bytes.formIndex(after: &start) }
    while start < end {
      let last = bytes.index(before: end)
      guard Self.isBlank(bytes[last]) else { break }
      end = last
    }
    return String(self[start..<end])
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 || byte == 13 || byte == 10 }
}
