import PosturePlatform

/// The programs of the examined system that may be asked, by absolute path. No other is ever run.
enum Tool: String, CaseIterable, Sendable {
  case cvtsudoers = "/usr/bin/cvtsudoers"
  case sshd = "/usr/sbin/sshd"

  /// Runs the tool of this machine; nil where it is not installed.
  func run(_ arguments: [String], input: [UInt8] = []) -> Result<Command.Output, Command.Failure>? {
    do throws(Command.Failure) { return .success(try command(arguments, input).run()) } catch {
      if case .start(let cause) = error, cause.isMissing { return nil }
      return .failure(error)
    }
  }

  /// Starts it, to be waited for later; nil where it does not start.
  func start(_ arguments: [String]) -> RunningCommand? { try? command(arguments, []).start() }

  private func command(_ arguments: [String], _ input: [UInt8]) -> Command {
    var command = Command(rawValue, arguments)
    command.input = input
    return command
  }
}
