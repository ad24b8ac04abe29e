import Posture

/// GLib's key files (GKeyFile; the Desktop Entry Specification's grammar).
struct GLibKeyFile: Sendable {
  /// Why GLib would refuse the whole file.
  struct Malformed: Error, Hashable {
    var line: Int
  }

  struct Entry: Hashable, Sendable {
    var group: String
    var key: String
    var value: String
    var line: Int
  }

  let entries: [Entry]

  init(_ text: String) throws(Malformed) {
    var entries: [Entry] = []
    var group: String?
    for (index, raw) in text.lines(keepsEmpty: true).enumerated() {
      let line = raw.trimmed
      if line.isEmpty || line.hasPrefix("#") { continue }
      if line.hasPrefix("["), line.ends(with: "]"), line.count > 2 {
        group = String(line.dropFirst().dropLast())
      } else if let group, !line.hasPrefix("="), let equals = raw.firstIndex(of: "=") {
        let value = raw[raw.index(after: equals)...]
        entries.append(
          Entry(group: group, key: raw[..<equals].trimmed, value: Self.written(value), line: index + 1))
      } else {
        throw Malformed(line: index + 1)
      }
    }
    self.entries = entries
  }

  /// A value as it stands there: blanks before it are none of it, those behind it are.
  private static func written(_ value: Substring) -> String {
    let line = value.utf8.last == UInt8(ascii: "\r") ? value.dropLast() : value
    return String(line.drop { $0 == " " || $0 == "\t" })
  }

  /// The last value of a key.
  func entry(_ group: String, _ key: String) -> Entry? { entries.last { $0.group == group && $0.key == key } }

  /// Escapes undone: `\s` is a blank.
  static func string(_ value: String) -> String {
    guard value.contains("\\") else { return value }
    var result = ""
    var rest = value[...]
    while let character = rest.popFirst() {
      guard character == "\\", let next = rest.popFirst() else {
        result.append(character)
        continue
      }
      switch next {
      case "s": result += " "
      case "n": result += "\n"
      case "t": result += "\t"
      case "r": result += "\r"
      default: result.append(next)
      }
    }
    return result
  }

  /// What g_key_file_get_boolean takes: "true", "false", "1", "0"; nil for everything else.
  static func boolean(_ value: String) -> Bool? {
    switch value {
    case "true", "1": true
    case "false", "0": false
    default: nil
    }
  }
}
