import Posture

/// The lines of sudoers(5) with everything included, in the order in which sudo reads them.
struct SudoersSource: Sendable {
  /// One line after continuation lines have been joined.
  struct Line: Sendable {
    var bytes: [UInt8]
    var place: Place
  }

  /// A file that sudo does not use, or a line that it cannot read.
  struct Problem: Sendable {
    var code: String
    var observed: String
    var place: Place
  }

  private(set) var lines: [Line] = []
  /// The whole text without its include directives, as a parser takes it from standard input.
  private(set) var text: [UInt8] = []
  private(set) var problems: [Problem] = []
  /// Files that this process may not read: their rules are not known.
  private(set) var unreadable: [Problem] = []
  /// The main file is used at all.
  private(set) var isUsable = false

  private let system: System
  private let hostName: String?
  private var depth = 0

  static func mainFile(on system: System) -> String? {
    let files = ["/etc/sudoers", "/usr/etc/sudoers", "/usr/local/etc/sudoers"]
    return ((SudoProgram.isRust(system) ? ["/etc/sudoers-rs"] : []) + files).first { system.exists($0) }
  }

  init(_ main: String, on system: System, hostName: String?) {
    self.system = system
    self.hostName = hostName
    isUsable = add(file: main)
  }

  private static let nestingLimit = 128
  private static let lineLimit = 200_000

  /// False where sudo does not use the file.
  @discardableResult
  private mutating func add(file path: String) -> Bool {
    guard depth < Self.nestingLimit, lines.count < Self.lineLimit else {
      note("sudoersRefused", path, "includes are nested too deeply")
      return false
    }
    let file: System.File
    do throws(System.Unreadable) { file = try system.read(path) } catch {
      let problem = Problem(
        code: error == .denied ? "unreadable" : "sudoersRefused", observed: "\(path) \(error.words)", place: Place(path)
      )
      if error == .denied { unreadable.append(problem) } else { problems.append(problem) }
      return false
    }
    if let fault = Self.fault(owner: file.owner, group: file.group, mode: file.mode) {
      note("sudoersRefused", path, fault)
      return false
    }
    depth += 1
    for piece in Self.logicalLines(file.bytes) {
      let place = Place(path, line: piece.number)
      if let include = Include(piece.bytes) {
        follow(include, from: path)
      } else {
        text += piece.raw
        lines.append(Line(bytes: piece.bytes, place: place))
      }
    }
    // Two line ends, so that nothing of this file runs on into the next.
    text += [0x0A, 0x0A]
    depth -= 1
    return true
  }

  private mutating func note(_ code: String, _ path: String, _ words: String) {
    problems.append(Problem(code: code, observed: "\(path) \(words)", place: Place(path)))
  }

  /// Why sudo refuses a file or directory with these attributes; nil where it takes it.
  private static func fault(owner: UInt32, group: UInt32, mode: UInt32) -> String? {
    if owner != 0 { return "is owned by uid \(owner), not by root" }
    if mode & 0o002 != 0 { return "is writable by everybody" }
    if mode & 0o020 != 0, group != 0 { return "is writable by its group" }
    return nil
  }

  // MARK: Includes

  private struct Include {
    var path: String
    var isDirectory: Bool

    /// nil where the line is no include directive.
    init?(_ line: [UInt8]) {
      let text = String(decoding: line.drop { $0 == 0x20 || $0 == 0x09 }, as: UTF8.self)
      for (word, isDirectory) in [("includedir", true), ("include", false)] {
        for sign in ["#", "@"] where text.hasPrefix(sign + word) {
          let rest = text.dropFirst(word.count + 1)
          guard let first = rest.first, first == " " || first == "\t" else { continue }
          path = Self.unquoted(rest)
          self.isDirectory = isDirectory
          return
        }
      }
      return nil
    }

    private static func unquoted(_ text: Substring) -> String {
      let trimmed = text.drop { $0 == " " || $0 == "\t" }
      if trimmed.hasPrefix("\"") { return String(trimmed.dropFirst().prefix { $0 != "\"" }) }
      var path = ""
      var isEscaped = false
      for character in trimmed {
        if isEscaped || (character != "\\" && character != " " && character != "\t") {
          path.append(character)
          isEscaped = false
        } else if character == "\\" {
          isEscaped = true
        } else {
          break
        }
      }
      return path
    }
  }

  private mutating func follow(_ include: Include, from path: String) {
    var target = Self.expanded(include.path, hostName)
    if !target.hasPrefix("/") { target = path.prefix(through: path.lastIndex(of: "/") ?? path.startIndex) + target }
    guard include.isDirectory else {
      add(file: target)
      return
    }
    let names: [String]
    do throws(System.Unreadable) { names = try system.list(target) } catch {
      if error == .denied {
        unreadable.append(Problem(code: "unreadable", observed: "\(target) \(error.words)", place: Place(target)))
      }
      return
    }
    if let status = try? system.status(target),
      let fault = Self.fault(owner: status.owner, group: status.group, mode: status.mode)
    {
      return note("sudoersRefused", target, fault)
    }
    for name in names where !name.contains(".") && !name.ends(with: "~") {
      let file = "\(target)/\(name)"
      if (try? system.status(file))?.kind == .regular { add(file: file) }
    }
  }

  private static func expanded(_ path: String, _ hostName: String?) -> String {
    guard path.contains("%") else { return path }
    let short = hostName.map { String($0.prefix { $0 != "." }) } ?? ""
    var result = ""
    var isPercent = false
    for character in path {
      switch (isPercent, character) {
      case (true, "h"): result += short
      case (true, "%"): result += "%"
      case (true, _): result += "%" + String(character)
      case (false, "%"): break
      case (false, _): result.append(character)
      }
      isPercent = !isPercent && character == "%"
    }
    return isPercent ? result + "%" : result
  }

  // MARK: Lines

  private struct Piece {
    var bytes: [UInt8]
    /// As in the file, line ends included.
    var raw: [UInt8]
    var number: Int
  }

  /// Joins lines that end in a backslash; a comment is not continued.
  private static func logicalLines(_ bytes: [UInt8]) -> [Piece] {
    var pieces: [Piece] = []
    var current: Piece?
    for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
      var piece = current ?? Piece(bytes: [], raw: [], number: index + 1)
      piece.raw += line
      piece.raw.append(0x0A)
      var content = line.last == 0x0D ? line.dropLast() : line
      if let comment = commentStart(content) {
        piece.bytes += content[..<comment]
        pieces.append(piece)
        current = nil
        continue
      }
      while let last = content.last, last == 0x20 || last == 0x09 { content = content.dropLast() }
      if endsInBackslash(content) {
        piece.bytes += content.dropLast()
        piece.bytes.append(0x20)
        current = piece
      } else {
        piece.bytes += content
        pieces.append(piece)
        current = nil
      }
    }
    if let current { pieces.append(current) }
    return pieces
  }

  private static func endsInBackslash(_ line: ArraySlice<UInt8>) -> Bool {
    line.reversed().prefix { $0 == UInt8(ascii: "\\") }.count % 2 == 1
  }

  /// Where a comment starts: at a `#` outside quotes that is no uid and no include directive.
  private static func commentStart(_ line: ArraySlice<UInt8>) -> Int? {
    var isQuoted = false
    var isEscaped = false
    for index in line.indices {
      let byte = line[index]
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if byte == UInt8(ascii: "#"), !isQuoted, !isNumber(line[(index + 1)...]) {
        let isFirst = line[..<index].allSatisfy { $0 == 0x20 || $0 == 0x09 }
        if isFirst, Include(Array(line)) != nil { return nil }
        return index
      }
    }
    return nil
  }

  private static func isNumber(_ rest: ArraySlice<UInt8>) -> Bool {
    var rest = rest
    if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
    guard let first = rest.first else { return false }
    return first >= UInt8(ascii: "0") && first <= UInt8(ascii: "9")
  }
}
