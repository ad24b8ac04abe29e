import Posture

/// The inittab of BusyBox, whose init joins lines before it looks for comments and takes blanks as they are
/// (parse_config.c, init.c).
extension InittabEntry {
  /// Those that init can run.
  static func busybox(_ text: String, path: String = InittabConsoles.path) -> [InittabEntry] {
    var entries: [InittabEntry] = []
    var joined = ""
    var start: Int?
    for (index, line) in (text.lines(keepsEmpty: true) + [""]).enumerated() {
      joined += line
      let number = start ?? index + 1
      if joined.utf8.last == UInt8(ascii: "\\") {
        joined.removeLast()
        start = number
        continue
      }
      if let entry = entry(joined, Place(path, line: number)), entry.canRun { entries.append(entry) }
      joined = ""
      start = nil
    }
    return entries
  }

  /// A "#" ends the line wherever it stands.
  private static func entry(_ line: String, _ place: Place) -> InittabEntry? {
    let fields = line.utf8.prefix { $0 != UInt8(ascii: "#") }
      .split(separator: UInt8(ascii: ":"), maxSplits: 3, omittingEmptySubsequences: false).map { String(Substring($0)) }
    guard fields.count == 4 else { return nil }
    let terminal = fields[0].hasPrefix(devices) ? String(fields[0].dropFirst(devices.count)) : fields[0]
    return InittabEntry(id: terminal, levels: fields[1], action: fields[2], process: fields[3], place: place)
  }

  private static let devices = "/dev/"

  /// There is no terminal with a blank in its name. A command that begins with a blank has no program, unless a shell
  /// reads it; a carriage return at its end belongs to the last word, which nothing but a terminal's type can bear.
  private var canRun: Bool {
    guard !id.contains(where: Self.isBlank), let program = words.first, let last = words.last else { return false }
    if process.utf8.last == UInt8(ascii: "\r") {
      return words.count > 1 && Programs.base(program).ends(with: "getty") && !ConsoleLine.isTerminal(last)
    }
    let command = process.hasPrefix("-") ? process.dropFirst() : process[...]
    return command.first.map { !Self.isBlank($0) } == true || process.contains(where: Self.forShell.contains)
  }

  private static let forShell = Set("~`!$^&*()=|\\{}[];\"'<>?")

  private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }

  /// The command's, with its redirections.
  var words: [String] { process.split(whereSeparator: Self.isBlank).map(String.init) }

  /// Whether the command is a login, or a shell that reads its terminal: what a script comes to hangs on too much.
  var isPrompt: Bool {
    guard let words = ShellScript(process, []).commands.last?.words, let first = words.first else { return false }
    let name = Programs.base(first.hasPrefix("-") ? String(first.dropFirst()) : first)
    if name == "login" || name == "sulogin" { return true }
    return Self.shells.contains(name) && words.dropFirst().allSatisfy { $0.hasPrefix("-") && !$0.contains("c") }
  }

  private static let shells: Set = ["sh", "ash", "hush", "bash"]
}
