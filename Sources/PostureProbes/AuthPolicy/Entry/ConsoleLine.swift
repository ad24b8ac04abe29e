import Posture

/// One terminal, or a template for many, and what happens at it.
struct ConsoleLine: Sendable {
  /// `tty1`, `ttyS0`, `console`; `tty*` and `ttyS*` for templates.
  var terminal: String
  var reading: TerminalReading
  /// The command, for people to read.
  var observed: String
  var place: Place
  /// Another file that was decisive: a credential.
  var credential: Place?
  /// The PAM service whose account phase stands before a shell.
  var service: String?
  /// False where something is set up at a terminal that is never started.
  var isStarted = true
}

extension ConsoleLine {
  /// The terminal that a command names, or gives itself by a redirection.
  static func terminal(in words: [String]) -> String? {
    let names = words.dropFirst().map { word in
      let bare = word.drop { "<>&0123456789".contains($0) && !word.hasPrefix("ttyS") }
      return bare.hasPrefix("/dev/") ? String(bare.dropFirst(5)) : String(bare)
    }
    return names.first(where: isTerminal)
  }

  static func isTerminal(_ name: String) -> Bool {
    guard name != "tty" else { return false }
    return ["tty", "console", "hvc", "hvsi", "xvc", "ttyS", "lxc/", "vport", "sclp"].contains { name.hasPrefix($0) }
      && !name.contains { " =$*[".contains($0) } && !UnknownText.isIn(name)
  }
}
