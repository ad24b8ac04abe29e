/// A file name pattern: `*`, `?`, `[...]`, and `\` before a character that means itself (glob(7)).
///
/// Needs time proportional to the product of both lengths at most, whatever the pattern.
struct ShellPattern: Sendable {
  private let pattern: [UInt8]
  private let stopsAtSlash: Bool
  private let hasClasses: Bool

  /// With `stopsAtSlash` no wildcard matches a slash; without `hasClasses` brackets and `\` mean themselves.
  init(_ pattern: String, stopsAtSlash: Bool = false, hasClasses: Bool = true) {
    self.pattern = Array(pattern.utf8)
    self.stopsAtSlash = stopsAtSlash
    self.hasClasses = hasClasses
  }

  func matches(_ text: String) -> Bool {
    let text = Array(text.utf8)
    var at = 0
    var position = 0
    var star: (pattern: Int, text: Int)?
    while position < text.count {
      if at < pattern.count, pattern[at] == UInt8(ascii: "*") {
        star = (at + 1, position)
        at += 1
      } else if let length = single(at, text[position]) {
        at += length
        position += 1
      } else if let last = star, !(stopsAtSlash && text[last.text] == UInt8(ascii: "/")) {
        star = (last.pattern, last.text + 1)
        at = last.pattern
        position = last.text + 1
      } else {
        return false
      }
    }
    return pattern[at...].allSatisfy { $0 == UInt8(ascii: "*") }
  }

  /// How many bytes of the pattern at `at` stand for the one `byte`; nil where they do not match it.
  private func single(_ at: Int, _ byte: UInt8) -> Int? {
    guard at < pattern.count else { return nil }
    let isSlash = stopsAtSlash && byte == UInt8(ascii: "/")
    switch pattern[at] {
    case UInt8(ascii: "?"): return isSlash ? nil : 1
    case UInt8(ascii: "[") where hasClasses:
      guard let end = classEnd(at) else { return byte == UInt8(ascii: "[") ? 1 : nil }
      return !isSlash && classContains(at + 1, end, byte) ? end + 1 - at : nil
    case UInt8(ascii: "\\") where hasClasses && at + 1 < pattern.count: return pattern[at + 1] == byte ? 2 : nil
    default: return pattern[at] == byte ? 1 : nil
    }
  }

  private func classEnd(_ at: Int) -> Int? {
    var end = at + 1
    if end < pattern.count, isNegation(pattern[end]) { end += 1 }
    // A bracket right at the start is a member.
    if end < pattern.count, pattern[end] == UInt8(ascii: "]") { end += 1 }
    return pattern[min(end, pattern.count)...].firstIndex(of: UInt8(ascii: "]"))
  }

  private func classContains(_ start: Int, _ end: Int, _ byte: UInt8) -> Bool {
    var at = start
    let isNegated = isNegation(pattern[at])
    if isNegated { at += 1 }
    var found = false
    while at < end {
      if at + 2 < end, pattern[at + 1] == UInt8(ascii: "-") {
        if pattern[at] <= byte, byte <= pattern[at + 2] { found = true }
        at += 3
      } else {
        if pattern[at] == byte { found = true }
        at += 1
      }
    }
    return found != isNegated
  }

  private func isNegation(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "!") || byte == UInt8(ascii: "^") }
}
