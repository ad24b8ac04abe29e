import Posture

/// A file of `NAME=value` lines that a shell reads.
enum VariableFile {
  /// The last value of a variable; nil where there is none, or an empty one.
  static func value(_ name: String, in path: String, _ system: System) -> (text: String, place: Place)? {
    let lines = LogicalLines(system.text(path) ?? "", comments: ["#"])
    guard let line = lines.reversed().first(where: { $0.text.hasPrefix("\(name)=") }),
      let text = UnitWords.split(String(line.text.dropFirst(name.utf8.count + 1))).first, !text.isEmpty
    else { return nil }
    return (text, Place(path, line: line.number))
  }
}
