extension JSON {
  /// UTF-8 text without any space between tokens; members in their own order.
  public var bytes: [UInt8] {
    var out: [UInt8] = []
    write(to: &out)
    return out
  }

  /// ``bytes`` as a string.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  private func write(to out: inout [UInt8]) {
    switch self {
    case .null: out += "null".utf8
    case .bool(let value): out += (value ? "true" : "false").utf8
    case .integer(let value): out += String(value).utf8
    case .number(let spelling): out += spelling.utf8
    case .string(let value): Self.write(value, to: &out)
    case .array(let values):
      Self.write(values, between: (UInt8(ascii: "["), UInt8(ascii: "]")), to: &out) { $0.write(to: &$1) }
    case .object(let members):
      Self.write(members, between: (UInt8(ascii: "{"), UInt8(ascii: "}")), to: &out) { member, out in
        Self.write(member.name, to: &out)
        out.append(UInt8(ascii: ":"))
        member.value.write(to: &out)
      }
    }
  }

  private static func write<Element>(
    _ items: [Element], between ends: (UInt8, UInt8), to out: inout [UInt8],
    each: (Element, inout [UInt8]) -> Void
  ) {
    out.append(ends.0)
    for (index, item) in items.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      each(item, &out)
    }
    out.append(ends.1)
  }

  private static func write(_ string: String, to out: inout [UInt8]) {
    out.append(UInt8(ascii: "\""))
    var string = string
    string.withUTF8 { bytes in
      if hasEscaped(bytes) { writeEscaped(bytes, to: &out) } else { out.append(contentsOf: bytes) }
    }
    out.append(UInt8(ascii: "\""))
  }

  /// Looks at all of them, whatever it finds: so the compiler takes many at once.
  private static func hasEscaped(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var found: UInt8 = 0
    for byte in bytes {
      found |= byte < 0x20 ? 1 : 0
      found |= byte == 0x7F ? 1 : 0
      found |= byte == UInt8(ascii: "\"") ? 1 : 0
      found |= byte == UInt8(ascii: "\\") ? 1 : 0
    }
    return found != 0
  }

  private static func writeEscaped(_ bytes: UnsafeBufferPointer<UInt8>, to out: inout [UInt8]) {
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): out += [UInt8(ascii: "\\"), byte]
      case 0x0A: out += #"\n"#.utf8
      case 0x0D: out += #"\r"#.utf8
      case 0x09: out += #"\t"#.utf8
      // DEL is legal, but a terminal that shows the text should not see it.
      case 0..<0x20, 0x7F: out += #"\u00"#.utf8 + [hexDigit(byte >> 4), hexDigit(byte & 15)]
      default: out.append(byte)
      }
    }
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
