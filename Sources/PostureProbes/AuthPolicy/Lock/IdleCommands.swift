import Posture

/// Idle daemons and the commands they run: swayidle, hypridle, xss-lock, xautolock, xidlehook, xscreensaver.
struct IdleCommands {
  /// Daemons that watch for idleness.
  static let daemons: Set<String> = [
    "swayidle", "hypridle", "xss-lock", "xautolock", "xidlehook", "wayidle", "stasis", "xscreensaver", "light-locker",
  ]

  /// Whether one stands anywhere in a text.
  static func namesDaemon(_ text: String) -> Bool {
    text.split { " \t\n;|&()'\"/".contains($0) }.contains { daemons.contains(String($0)) }
  }

  /// The locker that a command line starts.
  static func locker(in command: String) -> Locker? {
    let words = command.split { " \t;|&()'\"".contains($0) }.map { Programs.base(String($0)) }
    for word in words {
      if let locker = Locker(rawValue: word), locker != .gnome, locker != .kde, locker != .mate, locker != .cinnamon {
        return locker
      }
    }
    return nil
  }

  /// The same of several commands, or the one that `listener` starts where one of them asks for a lock.
  static func locker(in commands: [String], listener: String?) -> Locker? {
    commands.lazy.compactMap { locker(in: $0) ?? (locksSession($0) ? listener.flatMap { locker(in: $0) } : nil) }.first
  }

  /// What a daemon runs at a timeout: its command, and before a sleep that this brings, another one.
  static func commands(_ command: String, beforeSleep: String?) -> [String] {
    [command] + (sleeps(command) ? [beforeSleep].compactMap { $0 } : [])
  }

  /// Puts the machine to sleep, before which idle daemons run a command of their own: `systemctl suspend`.
  private static func sleeps(_ command: String) -> Bool {
    command.split { " \t;|&()'\"".contains($0) }.contains {
      ["suspend", "hibernate", "hybrid-sleep", "suspend-then-hibernate"].contains(String($0))
    }
  }

  /// Asks whoever listens to lock: `loginctl lock-session`.
  static func locksSession(_ command: String) -> Bool {
    command.contains("lock-session") || command.contains("lock-sessions")
  }

  /// It asks for a lock, and nobody is told to listen: nothing happens.
  static func isUnheard(_ command: String, listener: String?) -> Bool { listener == nil && locksSession(command) }
}

/// swayidle's arguments or its file: `timeout N 'command'`, `lock 'command'`.
struct Swayidle {
  private(set) var timeouts: [(seconds: Int, command: String)] = []
  private(set) var lockCommand: String?
  private(set) var sleepCommand: String?
  /// `-C`: the file to read in place of the usual ones.
  private(set) var file: String?
  /// A word that swayidle does not know: it gives up then.
  private(set) var stray: String?

  /// Words after the program's name.
  init(arguments: [String]) {
    var rest = arguments[...]
    while let word = rest.popFirst() {
      switch word {
      case "timeout":
        guard let seconds = rest.popFirst().flatMap({ Int($0) }), let command = rest.popFirst() else { return }
        timeouts.append((seconds, command))
      case "lock": lockCommand = rest.popFirst()
      case "before-sleep": sleepCommand = rest.popFirst()
      case "resume", "after-resume", "unlock", "idlehint": _ = rest.popFirst()
      case "-C": file = rest.popFirst()
      case "-S": _ = rest.popFirst()
      case "-w", "-d": break
      case _ where word.drop(while: \.isNumber).first.map { ">&|<".contains($0) } ?? false: return
      default: stray = stray ?? word
      }
    }
  }

  init(file: String) {
    var all = Swayidle(arguments: [])
    for line in LogicalLines(file, comments: ["#"]) {
      all.add(Swayidle(arguments: ShellWords.split(line.text)))
    }
    self = all
  }

  /// What is read after it.
  mutating func add(_ other: Swayidle) {
    timeouts += other.timeouts
    lockCommand = other.lockCommand ?? lockCommand
    sleepCommand = other.sleepCommand ?? sleepCommand
    stray = stray ?? other.stray
  }

  /// After how many seconds which locker starts.
  var lock: (seconds: Int, locker: Locker)? {
    if stray != nil { return nil }
    for (seconds, command) in timeouts.sorted(by: { $0.seconds < $1.seconds }) where seconds > 0 {
      let commands = IdleCommands.commands(command, beforeSleep: sleepCommand)
      if let locker = IdleCommands.locker(in: commands, listener: lockCommand) { return (seconds, locker) }
    }
    return nil
  }

  /// A command that may lock, and is nothing that is known: a script.
  var mystery: String? {
    stray
      ?? timeouts.filter { $0.seconds > 0 }.map(\.command).first { command in
        if IdleCommands.isUnheard(command, listener: lockCommand) { return false }
        let program = ShellWords.split(command).first ?? ""
        return program.contains("/") || program.ends(with: ".sh") || command.contains("lock")
      }
  }
}
