/// Whether a command that somebody may run as root makes them root.
enum CommandPower {
  /// `command` is a path with its arguments, as sudoers(5) writes it; nil for somebody from a directory.
  static func isRoot(_ command: String, for account: Account?, _ system: System) -> Bool {
    var command = command
    while let inner = RootCommands.inner(of: command) { command = inner }
    if RootCommands.amountsToRoot(command) { return true }
    guard let account else { return false }
    let path = SudoersCommand(command).path
    if path.hasPrefix("/"), isReplaceable(path, by: account, system) { return true }
    return scripts(of: command, system).contains { isReplaceable($0, by: account, system) }
  }

  /// The files that an interpreter runs: every path up to the first one that is no directory. What follows is data.
  private static func scripts(of command: String, _ system: System) -> [String] {
    var scripts: [String] = []
    for path in RootCommands.interpretedPaths(of: command) {
      scripts.append(path)
      guard let status = try? system.status(path), status.kind == .directory else { break }
    }
    return scripts
  }

  private static func isReplaceable(_ path: String, by account: Account, _ system: System) -> Bool {
    var place = path
    while place.count > 1 {
      if let status = try? system.status(place), isWritable(status, by: account) { return true }
      if place == account.home { return true }
      place = String(place[..<(place.lastIndex(of: "/") ?? place.startIndex)])
    }
    return false
  }

  private static func isWritable(_ status: System.Status, by account: Account) -> Bool {
    // Everybody may write to a sticky directory, but not replace what belongs to others there.
    let isOpen = status.mode & 0o002 != 0 && !(status.kind == .directory && status.mode & 0o1000 != 0)
    return (status.owner == account.uid && account.uid != 0) || isOpen
  }
}
