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
  /// The line that GLib stops at.
  private let malformed: Malformed?

  init(_ text: String) throws(Malformed) {
    self.init(upToFault: text)
    if let malformed { throw malformed }
  }

  /// With what stands before the line that GLib refuses: a program that goes on after the fault has that much.
  init(upToFault text: String) {
    var entries: [Entry] = []
    var malformed: Malformed?
    var group: String?
    for (index, raw) in text.lines(keepsEmpty: true).enumerated() {
      let line = raw.trimmed
      if line.isEmpty || line.hasPrefix("#") { continue }
      if let name = Self.group(line) {
        group = name
      } else if let group, let equals = raw.firstIndex(of: "="), let key = Self.key(raw[..<equals].trimmed) {
        let value = raw[raw.index(after: equals)...]
        entries.append(Entry(group: group, key: key, value: Self.written(value), line: index + 1))
      } else {
        malformed = Malformed(line: index + 1)
        break
      }
    }
    self.entries = entries
    self.malformed = malformed
  }

  /// The name in a line that is nothing but a group's header: it ends at the first bracket.
  private static func group(_ line: String) -> String? {
    guard line.hasPrefix("["), line.ends(with: "]") else { return nil }
    let name = line.dropFirst().dropLast()
    return name.isEmpty || name.contains { $0 == "[" || $0 == "]" } ? nil : String(name)
  }

  /// Brackets stand only around a locale, which ends the key.
  private static func key(_ written: String) -> String? {
    let name = written.prefix { $0 != "[" && $0 != "]" }
    let locale = written[name.endIndex...]
    if locale.isEmpty { return name.isEmpty ? nil : written }
    guard !name.isEmpty, !name.ends(with: " "), locale.hasPrefix("["), locale.ends(with: "]") else { return nil }
    let letters = locale.dropFirst().dropLast()
    return letters.allSatisfy { $0.isLetter || $0.isNumber || "-_.@".contains($0) } ? written : nil
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
