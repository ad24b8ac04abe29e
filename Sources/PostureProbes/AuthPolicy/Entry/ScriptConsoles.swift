import Posture

/// Gettys, logins, shells and sessions that a boot's scripts or cron may start.
struct ScriptConsoles {
  private let reader: TerminalReader
  private let commands: [UnitCommand]

  init(_ context: AuthContext) {
    reader = TerminalReader(system: context.system)
    commands = StartedCommands.of(context.system, context.startup).scripted
  }

  private static let programs = TerminalReader.sessions.union([
    "getty", "agetty", "mingetty", "login", "su", "runuser", "openvt",
  ])
  /// Programs that may stand before one of these.
  private static let starters: Set = ["setsid", "env", "nice", "exec", "chpst", "nohup", "cttyhack", "busybox"]

  var lines: [ConsoleLine] { commands.flatMap(lines) }

  /// What a script comes to is not known: it is no more than a session that may be somebody's.
  private func lines(_ command: UnitCommand) -> [ConsoleLine] {
    guard isConsole(command.words) else { return [] }
    let reading: TerminalReading
    switch reader.read(command.words) {
    case .shell(let user), .session(let user): reading = .session(of: user)
    case .login(let call):
      if case .only(let user) = call.user, call.skipsAuthentication {
        reading = .session(of: user)
      } else {
        reading = call.skipsAuthentication ? .unknown(command.program) : .login(call)
      }
    default: return []
    }
    let terminal = ConsoleLine.terminal(in: command.words) ?? "console"
    return [
      ConsoleLine(
        terminal: terminal, reading: reading, observed: command.words.joined(separator: " "), place: command.place)
    ]
  }

  private func isConsole(_ words: [String]) -> Bool {
    let names = words.map(Programs.base)
    guard let first = names.first else { return false }
    if Self.programs.contains(first) { return true }
    if SimpleCommands.shells.contains(first) {
      return names.count == 1
        || SimpleCommands.of(words).contains { Self.programs.contains(Programs.base($0[0])) }
    }
    return Self.starters.contains(first)
      && names.contains { Self.programs.contains($0) || SimpleCommands.shells.contains($0) }
  }
}
