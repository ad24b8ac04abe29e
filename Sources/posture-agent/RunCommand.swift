import Posture
import PostureCourier
import PosturePlatform
import PostureTerminal

/// `posture-agent run`: the courier, until SIGTERM.
struct RunCommand {
  private let path: String?

  init(_ arguments: inout Arguments) throws(UsageError) {
    path = try arguments.option("--config")
    try arguments.end()
  }

  func run() -> Int32 {
    do throws(ConfigurationError) {
      return try Courier { () throws(ConfigurationError) in
        let configuration = try Configured.load(path)
        return (configuration, try Enrolment(DeviceFolder(configuration.state)))
      }.run()
    } catch {
      Terminal.error("<3>posture-agent: \(error)")
      return ExitStatus.failed
    }
  }
}
