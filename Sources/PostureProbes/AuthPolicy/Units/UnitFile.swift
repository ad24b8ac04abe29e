import Posture

/// One assignment of a unit file.
struct UnitSetting: Hashable, Sendable {
  var section: String
  var key: String
  var value: String
  var place: Place
}

/// The grammar of unit files (systemd.syntax(7)).
enum UnitFile {
  /// Of a directory of drop-ins systemd reads the files with this suffix, hidden ones apart.
  static func isDropIn(_ name: String) -> Bool { name.ends(with: ".conf") && !name.hasPrefix(".") }

  /// Assignments in order. Lines joined by a backslash count as the first one; comments inside are skipped.
  static func parse(_ text: String, path: String) -> [UnitSetting] {
    var settings: [UnitSetting] = []
    var section = ""
    for line in LogicalLines(text) {
      if line.text.hasPrefix("["), line.text.ends(with: "]") {
        section = String(line.text.dropFirst().dropLast())
      } else if let equals = line.text.utf8.firstIndex(of: UInt8(ascii: "=")), !section.isEmpty {
        let key = line.text[..<equals].trimmed
        let value = line.text[line.text.index(after: equals)...].trimmed
        // A command with a quotation that nothing ends is passed over.
        guard !key.hasPrefix("Exec") || UnitWords.isComplete(value) else { continue }
        settings.append(UnitSetting(section: section, key: key, value: value, place: Place(path, line: line.number)))
      }
    }
    return settings
  }
}

/// Lines of a text with their numbers: joined at trailing backslashes, without comments and blank lines.
struct LogicalLines: Sequence {
  struct Line: Hashable {
    var text: String
    /// 1-based number of the first physical line.
    var number: Int
  }

  private let lines: [Line]

  init(_ text: String, comments: [Unicode.Scalar] = ["#", ";"]) {
    var text = text
    let comments = comments.map { UInt8(ascii: $0) }
    lines = text.withUTF8 { Self.read($0, comments) }
  }

  private static func read(_ bytes: UnsafeBufferPointer<UInt8>, _ comments: [UInt8]) -> [Line] {
    var lines: [Line] = []
    var joined: [UInt8] = []
    var start = 0
    for (index, raw) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      let physical = raw.trimmed
      if let first = physical.first, comments.contains(first) { continue }
      let isContinued = isContinued(raw)
      if start == 0, !isContinued {
        if !physical.isEmpty { lines.append(Line(text: String(decoding: physical, as: UTF8.self), number: index + 1)) }
        continue
      }
      if start == 0 { start = index + 1 }
      joined += isContinued ? physical.dropLast() : physical
      if isContinued {
        joined.append(UInt8(ascii: " "))
        continue
      }
      add(joined, start, to: &lines)
      joined = []
      start = 0
    }
    if start > 0 { add(joined, start, to: &lines) }
    return lines
  }

  private static func add(_ joined: [UInt8], _ number: Int, to lines: inout [Line]) {
    let text = joined[...].trimmed
    if !text.isEmpty { lines.append(Line(text: String(decoding: text, as: UTF8.self), number: number)) }
  }

  /// Ends in a backslash that no other one stands before; one with a blank behind it joins nothing.
  private static func isContinued(_ line: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    let bytes = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    return !bytes.reversed().prefix { $0 == UInt8(ascii: "\\") }.count.isMultiple(of: 2)
  }

  func makeIterator() -> IndexingIterator<[Line]> { lines.makeIterator() }
}
