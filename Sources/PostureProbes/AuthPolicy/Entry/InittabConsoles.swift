import Posture

/// One line of an inittab, of sysvinit (inittab(5)) or BusyBox.
struct InittabEntry: Hashable, Sendable {
  var id: String
  var levels: String
  var action: String
  var process: String
  var place: Place

  static func parse(_ text: String, path: String = InittabConsoles.path) -> [InittabEntry] {
    LogicalLines(text, comments: ["#"]).compactMap { line in
      let fields = line.text.split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
      guard fields.count == 4 else { return nil }
      return InittabEntry(
        id: fields[0].trimmed, levels: fields[1].trimmed, action: fields[2].trimmed, process: fields[3].trimmed,
        place: Place(path, line: line.number))
    }
  }
}

/// The terminals of an inittab.
struct InittabConsoles {
  static let path = "/etc/inittab"
  private let system: System
  private let isBusyBox: Bool

  init(_ system: System, isBusyBox: Bool) {
    self.system = system
    self.isBusyBox = isBusyBox
  }

  private static let sysvActions: Set<String> = ["respawn", "once", "wait", "ondemand", "boot", "bootwait"]
  private static let busyboxActions: Set<String> = [
    "respawn", "askfirst", "once", "wait", "askconsole",
    // procd's own.
    "askconsolelate", "respawnlate",
  ]

  /// nil where there is no inittab.
  var entries: [InittabEntry]? {
    get throws(System.Unreadable) {
      do throws(System.Unreadable) {
        let text = try system.read(Self.path).text
        return readsAsBusyBox ? InittabEntry.busybox(text) : InittabEntry.parse(text) + more
      } catch {
        if error == .missing { return nil }
        throw error
      }
    }
  }

  /// procd reads its lines as sysvinit does.
  private var readsAsBusyBox: Bool { isBusyBox && !system.exists("/sbin/procd") }

  private static let folder = "/etc/inittab.d"

  /// sysvinit reads the files of a folder too, since 2.97.
  private var more: [InittabEntry] {
    guard !isBusyBox else { return [] }
    return ((try? system.list(Self.folder)) ?? []).filter { $0.ends(with: ".tab") }.flatMap { name in
      let path = "\(Self.folder)/\(name)"
      return InittabEntry.parse(system.text(path) ?? "", path: path)
    }
  }

  func lines(_ entries: [InittabEntry]) -> [ConsoleLine] {
    let level = entries.first { $0.action == "initdefault" }?.levels ?? ""
    return entries.compactMap { entry in
      guard isUsed(entry, level) else { return nil }
      return line(entry)
    }
  }

  private func isUsed(_ entry: InittabEntry, _ level: String) -> Bool {
    if isBusyBox { return isUsedByBusyBox(entry) }
    guard Self.sysvActions.contains(entry.action) else { return false }
    return level.isEmpty || entry.levels.isEmpty || level.contains { entry.levels.contains($0) }
  }

  private func isUsedByBusyBox(_ entry: InittabEntry) -> Bool {
    // Nobody types at /dev/null, unless the command opens a terminal itself.
    if entry.id == Self.null, ConsoleLine.terminal(in: entry.words) == nil { return false }
    return Self.busyboxActions.contains(entry.action) || (entry.action == "sysinit" && entry.isPrompt)
  }

  private static let null = "null"

  private func line(_ entry: InittabEntry) -> ConsoleLine? {
    let process = entry.process.hasPrefix("+") ? String(entry.process.dropFirst()) : entry.process
    let written = process.split { $0 == " " || $0 == "\t" }.map(String.init)
    let reader = TerminalReader(system: system, asksOnTerminals: OpenWrtSettings.asksOnTerminals(system))
    let commands = ShellScript(process, [], files: reader.content).commands
    guard let words = commands.last?.words ?? (written.isEmpty ? nil : written) else { return nil }
    let reading = Self.reading(reader.read(words), words)
    guard counts(reading, words) else { return nil }
    return ConsoleLine(
      terminal: terminal(entry, written), reading: reading, observed: process,
      place: entry.place)
  }

  /// A dash before its name says that a program is somebody's login shell, one that is not known here too.
  private static func reading(_ reading: TerminalReading, _ words: [String]) -> TerminalReading {
    guard case .unknown(let command) = reading, words.first?.hasPrefix("-") == true else { return reading }
    return .undecided(command)
  }

  /// A program that is neither getty nor login nor shell is an application.
  private func counts(_ reading: TerminalReading, _ words: [String]) -> Bool {
    switch reading {
    case .nothing: false
    case .unknown:
      Self.unasked(words).contains { word in
        let name = Programs.base(word)
        return !word.hasPrefix("-") && (name.ends(with: "getty") || name.contains("login"))
      }
    default: true
    }
  }

  /// A getty that asks for no name is as good as the program that it runs.
  private static func unasked(_ words: [String]) -> [String] {
    guard let first = words.first, Programs.base(first).ends(with: "getty") else { return words }
    let options = GettyOptions(Array(words.dropFirst()))
    return options.skipsPrompt && options.autologin == nil ? [options.program] + options.loginArguments : words
  }

  private func terminal(_ entry: InittabEntry, _ words: [String]) -> String {
    if isBusyBox, !entry.id.isEmpty, entry.id != Self.null { return entry.id }
    return ConsoleLine.terminal(in: words) ?? "console"
  }

  /// What BusyBox init does where there is no inittab: a root shell on the console and three terminals.
  static let withoutInittab = ["console", "tty2", "tty3", "tty4"].map { terminal in
    ConsoleLine(
      terminal: terminal, reading: .rootShell, observed: "askfirst:-/bin/sh, no inittab", place: Place(path))
  }
}

/// What OpenWrt says in /etc/config/system.
enum OpenWrtSettings {
  /// What its package brings, for a tree that holds the configuration only.
  static let scripts = [
    "/usr/libexec/login.sh": """
    #!/bin/sh
    [ "$(uci -q get system.@system[0].ttylogin)" = 1 ] || exec /bin/login -f root
    exec /bin/login

    """
  ]

  /// `ttylogin` of the first `system` section; without it the terminals ask nothing.
  static func asksOnTerminals(_ system: System) -> Bool {
    var isSystem = false
    var asks = false
    for line in LogicalLines(system.text("/etc/config/system") ?? "", comments: ["#"]) {
      let words = words(line.text)
      if words.first == "config" {
        if isSystem { break }
        isSystem = words.dropFirst().first == "system"
      } else if isSystem, words.count == 3, words[0] == "option", words[1] == "ttylogin" {
        asks = words[2] == "1"
      }
    }
    return asks
  }

  /// The words of a line, up to a comment.
  static func words(_ line: String) -> [String] { Array(UnitWords.split(line).prefix { !$0.hasPrefix("#") }) }
}
