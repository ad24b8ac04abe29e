import Posture

/// Commands that give whoever connects a shell.
enum RemoteShells {
  /// Shells and logins that answer connections themselves, and those that socat(1) brings to the network.
  static func look(_ context: AuthContext) -> [Door] {
    let commands = StartedCommands.of(context.system, context.startup)
    let answers = commands.answering.compactMap { answer($0, context.system) }
    let shell = answers.first { $0.opening == .always } ?? answers.first
    let relaying = commands.running(["socat"]).filter { relays($0, to: { _ in true }) }
    let relay = relaying.first { relays($0, to: isShell) }.map { open("socat", $0) }
    return [shell, relay ?? relaying.first.map { unknown("socat", $0) }].compactMap { $0 }
  }

  private static let programs = SimpleCommands.shells.union(["login", "su", "runuser", "busybox", "env", "setsid"])

  private static func answer(_ command: UnitCommand, _ system: System) -> Door? {
    guard programs.contains(Programs.base(command.program)) else { return nil }
    switch TerminalReader(system: system).read(command.words) {
    case .shell: return open("shell", command)
    case .login, .session: return unknown("shell", command)
    default: return nil
    }
  }

  /// `socat TCP-LISTEN:2323,fork EXEC:/bin/bash,pty`
  private static func relays(_ command: UnitCommand, to isWanted: (String) -> Bool) -> Bool {
    let addresses = command.arguments.map { $0.split(separator: ",").map(String.init) }
    let listens = addresses.contains { address in
      let kind = (address.first ?? "").prefix { $0 != ":" }.uppercased()
      let isNarrowed = address.contains { $0.hasPrefix("range=") || $0.hasPrefix("bind=") || $0.hasPrefix("tcpwrap") }
      return kind.hasPrefix("TCP") && (kind.ends(with: "LISTEN") || kind.ends(with: "-L")) && !isNarrowed
    }
    let runs = addresses.compactMap(\.first).filter { ["EXEC:", "SYSTEM:", "SHELL:"].contains(where: $0.hasPrefix) }
    return listens && runs.contains { isWanted(String($0.drop { $0 != ":" }.dropFirst())) }
  }

  /// A shell by itself, interactive at most.
  private static func isShell(_ command: String) -> Bool {
    let words = UnitWords.split(command)
    return SimpleCommands.shells.contains(Programs.base(words.first ?? ""))
      && words.dropFirst().allSatisfy { ["-i", "-l", "-li", "-il"].contains($0) }
  }

  /// telnetd that is told a shell in the place of the login program.
  static func isOpen(_ command: UnitCommand) -> Bool {
    guard Programs.base(command.program) == "telnetd" else { return false }
    let arguments = command.arguments
    let value = arguments.firstIndex(of: "-l").flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
    return value.map(isShell) ?? false
  }

  /// A door that needs no proof.
  static func open(_ name: String, _ command: UnitCommand) -> Door {
    Door(
      "remote@\(name)", .remote, "*", .always, because: [Reason("remote.shell", command.place)],
      cause: Cause("openRemote", observed: command.words.joined(separator: " "), evidence: [command.place]))
  }

  private static func unknown(_ name: String, _ command: UnitCommand) -> Door {
    Door(
      "remote@\(name)", .remote, "*", nil, because: [Reason("remote.notModelled", command.place)],
      cause: Cause("notModelled", observed: command.words.joined(separator: " "), evidence: [command.place]))
  }
}
