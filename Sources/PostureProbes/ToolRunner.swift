import PosturePlatform

/// The programs of the examined system that may be asked, by absolute path. No other is ever run.
enum Tool: String, CaseIterable, Sendable {
  case cvtsudoers = "/usr/bin/cvtsudoers"
  case sshd = "/usr/sbin/sshd"

  /// Runs the tool of this machine; nil where it is not installed.
  func run(_ arguments: [String], input: [UInt8] = [], timeout: Int64 = 5_000) -> Result<
    Command.Output, Command.Failure
  >? {
    var command = Command(rawValue, arguments)
    command.input = input
    command.timeout = timeout
    do throws(Command.Failure) { return .success(try command.run()) } catch {
      if case .start(let cause) = error, cause.isMissing { return nil }
      return .failure(error)
    }
  }
}
