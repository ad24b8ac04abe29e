extension StringProtocol where SubSequence == Substring {
  /// Lines as programs read them: each ends at a line feed, whatever stands before it. As characters of Swift, a carriage
  /// return and a line feed are one, which is none of the two.
  func lines(keepsEmpty: Bool = false, most: Int = .max) -> [Substring] {
    self[...].utf8.split(separator: UInt8(ascii: "\n"), maxSplits: most, omittingEmptySubsequences: !keepsEmpty)
      .map { Substring($0) }
  }

  /// What stands between the blanks of isspace(3) in the C locale, which is what programs take their lines apart by. Of more
  /// than `most` + 1 words, the last has all the rest.
  func words(most: Int = .max) -> [Substring] {
    self[...].utf8.split(maxSplits: most) { $0 == 32 || (9...13).contains($0) }.map { Substring($0) }
  }

  /// By bytes, as names of files end: it costs a fraction of a comparison of characters.
  func ends(with suffix: some StringProtocol) -> Bool {
    utf8.count >= suffix.utf8.count && utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
  }

  /// Without blanks and ends of lines at both ends.
  var trimmed: String { String(Substring(self[...].utf8.trimmed)) }
}

extension BidirectionalCollection<UInt8> {
  /// Without blanks and ends of lines at both ends.
  var trimmed: SubSequence {
    guard let first = firstIndex(where: { !Self.isBlank($0) }), let last = lastIndex(where: { !Self.isBlank($0) })
    else { return self[endIndex...] }
    return self[first...last]
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 || byte == 13 || byte == 10 }
}
