import Posture

/// A file of `NAME=value` lines that a shell reads: /etc/default, /etc/conf.d, /etc/sysconfig.
enum VariableFile {
  struct Setting {
    /// As it is written before the sign.
    var name: String
    var words: [String]
    var place: Place
  }

  static func settings(in path: String, _ system: System) -> [Setting] {
    LogicalLines(system.text(path) ?? "", comments: ["#"]).compactMap { line in
      guard let equals = line.text.firstIndex(of: "=") else { return nil }
      let value = line.text[line.text.index(after: equals)...].trimmed
      return Setting(
        name: String(line.text[..<equals]), words: UnitWords.split(value), place: Place(path, line: line.number))
    }
  }

  /// The last value of a variable; nil where there is none, or an empty one.
  static func value(_ name: String, in path: String, _ system: System) -> (text: String, place: Place)? {
    guard let setting = settings(in: path, system).last(where: { $0.name == name }),
      let text = setting.words.first, !text.isEmpty
    else { return nil }
    return (text, setting.place)
  }

  /// Options for a program: the first of these variables in the first file that has one.
  static func options(_ variables: Set<String>, in files: [String], _ system: System) -> UnitCommand? {
    files.lazy.compactMap { path in settings(in: path, system).first { variables.contains($0.name.trimmed) } }.first
      .map { UnitCommand(words: UnitWords.split($0.words.joined(separator: " ")), place: $0.place) }
  }
}
