/// Shell patterns: `*`, `?` and sets in brackets, where `*` does not pass over a slash.
enum Glob {
  static func matches(_ text: String, _ pattern: String) -> Bool {
    matches(Array(text.utf8)[...], Array(pattern.utf8)[...])
  }

  private static func matches(_ text: ArraySlice<UInt8>, _ pattern: ArraySlice<UInt8>) -> Bool {
    var text = text
    var pattern = pattern
    // Where the last star stands, and how far it has eaten.
    var star: (pattern: ArraySlice<UInt8>, text: ArraySlice<UInt8>)?
    while let byte = text.first {
      if pattern.first == UInt8(ascii: "*") {
        star = (pattern.dropFirst(), text)
        pattern = pattern.dropFirst()
      } else if let next = pattern.first, next == byte || (next == UInt8(ascii: "?") && byte != UInt8(ascii: "/")) {
        text = text.dropFirst()
        pattern = pattern.dropFirst()
      } else if let last = star, last.text.first != UInt8(ascii: "/"), !last.text.isEmpty {
        star = (last.pattern, last.text.dropFirst())
        text = last.text.dropFirst()
        pattern = last.pattern
      } else {
        return false
      }
    }
    return pattern.allSatisfy { $0 == UInt8(ascii: "*") }
  }
}
