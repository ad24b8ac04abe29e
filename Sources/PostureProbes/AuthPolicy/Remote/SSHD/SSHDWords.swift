/// Words of a line of sshd_config(5): quotes, backslashes, and a comment at the end.
enum SSHDWords {
  /// nil for an open quote.
  static func split(_ line: some StringProtocol) -> [String]? {
    var words: [String] = []
    let bytes = Array(line.utf8)
    var at = 0
    while at < bytes.count {
      if isBlank(bytes[at]) {
        at += 1
        continue
      }
      if bytes[at] == UInt8(ascii: "#") { break }
      guard let word = word(bytes, &at) else { return nil }
      words.append(word)
    }
    return words
  }

  static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0C }

  private static func word(_ bytes: [UInt8], _ at: inout Int) -> String? {
    var out: [UInt8] = []
    var quote: UInt8?
    while at < bytes.count, quote != nil || !isBlank(bytes[at]) {
      let byte = bytes[at]
      let next = at + 1 < bytes.count ? bytes[at + 1] : 0
      let isQuoting = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'")
      if byte == UInt8(ascii: "\\"), escapes(next, quote) {
        at += 1
        out.append(next)
      } else if byte == quote {
        quote = nil
      } else if quote == nil, isQuoting {
        quote = byte
      } else {
        out.append(byte)
      }
      at += 1
    }
    return quote == nil ? String(decoding: out, as: UTF8.self) : nil
  }

  /// A backslash before anything else than a quote, itself or (outside quotes) a space is a backslash.
  private static func escapes(_ next: UInt8, _ quote: UInt8?) -> Bool {
    next == UInt8(ascii: "'") || next == UInt8(ascii: "\"") || next == UInt8(ascii: "\\")
      || (quote == nil && next == 0x20)
  }
}
