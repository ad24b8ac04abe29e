import Posture

/// A first process that is a script, as small systems and initial RAM disks have it: what it ends in is at the console.
enum ScriptAsInit {
  /// nil where that is nothing known, or where it hands over to another system.
  static func line(_ system: System) -> ConsoleLine? {
    let reader = TerminalReader(system: system)
    guard let path = InitProgram.path(system), let text = reader.text(of: path) else { return nil }
    let commands = ShellScript(text, [], files: reader.content).commands
    guard let last = commands.last, !commands.contains(where: { handsOver.contains(Programs.base($0.words[0])) }) else {
      return nil
    }
    let reading = reader.read(last.words)
    switch reading {
    case .unknown, .undecided, .nothing: return nil
    default:
      return ConsoleLine(
        terminal: "console", reading: reading, observed: UnknownText.shown(last.words.joined(separator: " ")),
        place: Place(path))
    }
  }

  private static let handsOver: Set = ["switch_root", "pivot_root", "run-init", "chroot", "init", "systemd"]
}
