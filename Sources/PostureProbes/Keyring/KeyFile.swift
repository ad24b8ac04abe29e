/// Groups of `key=value` lines, as GKeyFile, KConfig and QSettings write them.
struct KeyFile {
  private var values: [String: [String: String]] = [:]

  init(_ text: String) {
    var group = ""
    for line in text.split(whereSeparator: \.isNewline) {
      let line = line.trimmed
      if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(";") { continue }
      if line.hasPrefix("["), let end = line.lastIndex(of: "]") {
        group = String(line[line.index(after: line.startIndex)..<end])
      } else if let equals = line.firstIndex(of: "=") {
        values[group, default: [:]][line[..<equals].trimmed] = line[line.index(after: equals)...].trimmed
      }
    }
  }

  /// The last value of a key; nil where it is missing or empty.
  subscript(group: String, key: String) -> String? {
    guard let value = values[group]?[key], !value.isEmpty else { return nil }
    return value
  }
}
