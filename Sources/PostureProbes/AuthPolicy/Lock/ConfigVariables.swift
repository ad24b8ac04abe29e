/// Variables of window managers' files: `$name` stands for its value in every line after the one that sets it.
struct ConfigVariables {
  private var values: [(name: String, value: String)] = []
  /// Values that are put into each other could grow without end.
  private static let longest = 4_096
  private static let most = 256

  /// `name` begins with `$`.
  mutating func set(_ name: String, _ value: String) {
    guard name.hasPrefix("$"), name.utf8.count > 1, values.count < Self.most else { return }
    values.removeAll { $0.name == name }
    values.append((name, String(value.prefix(Self.longest))))
    // The longer name is meant where a shorter one is its beginning.
    values.sort { $0.name.utf8.count > $1.name.utf8.count }
  }

  func expand(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "$")) else { return text }
    var result = ""
    var rest = text[...]
    while let first = rest.first, result.utf8.count <= Self.longest {
      if first == "$", let found = values.first(where: { rest.hasPrefix($0.name) }) {
        result += found.value
        rest = rest.dropFirst(found.name.count)
      } else {
        result.append(first)
        rest = rest.dropFirst()
      }
    }
    return result
  }
}
