/// JSON that a person writes: `//` to the end of the line and `/* … */` are comments.
public enum CommentedJSON {
  /// Parses `bytes` with the comments taken out; offsets in errors are those of the text as it was written.
  public static func parse(_ bytes: [UInt8], limits: JSONParser.Limits = .message) throws(JSONError) -> JSON {
    try JSONParser.parse(try blank(bytes), limits: limits)
  }

  /// Comments become spaces, so that nothing moves.
  private static func blank(_ bytes: [UInt8]) throws(JSONError) -> [UInt8] {
    var out = bytes
    var at = 0
    while at < bytes.count {
      switch (bytes[at], at + 1 < bytes.count ? bytes[at + 1] : 0) {
      case (UInt8(ascii: "\""), _): at = endOfString(bytes, from: at)
      case (UInt8(ascii: "/"), UInt8(ascii: "/")): at = blank(&out, from: at, to: endOfLine(bytes, from: at))
      case (UInt8(ascii: "/"), UInt8(ascii: "*")):
        guard let end = endOfComment(bytes, from: at + 2) else { throw JSONError(code: .syntax, offset: at) }
        at = blank(&out, from: at, to: end)
      default: at += 1
      }
    }
    return out
  }

  private static func blank(_ out: inout [UInt8], from start: Int, to end: Int) -> Int {
    for index in start..<end where out[index] != 0x0A { out[index] = 0x20 }
    return end
  }

  private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
    var at = start + 1
    while at < bytes.count, bytes[at] != UInt8(ascii: "\"") { at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1 }
    return min(at + 1, bytes.count)
  }

  private static func endOfLine(_ bytes: [UInt8], from start: Int) -> Int {
    bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
  }

  private static func endOfComment(_ bytes: [UInt8], from start: Int) -> Int? {
    var at = start
    while at + 1 < bytes.count {
      if bytes[at] == UInt8(ascii: "*"), bytes[at + 1] == UInt8(ascii: "/") { return at + 2 }
      at += 1
    }
    return nil
  }
}
