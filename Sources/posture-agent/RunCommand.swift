import Glibc
import Posture
import PostureAttester
import PostureCourier
import PosturePlatform
import PostureTerminal

/// `posture-agent run`: the courier, until SIGTERM. Started as root, it starts the attester too and gives up its rights.
struct RunCommand {
  private let path: String?
  /// nil where we are not root, and somebody else starts the attester.
  private let both: (attester: AttesterSettings, courier: Privilege.User)?

  init(_ arguments: inout Arguments) throws(UsageError) {
    path = try arguments.option("--config")
    both = geteuid() == 0 ? try Self.both(&arguments, path) : nil
    try arguments.end()
  }

  private static func both(
    _ arguments: inout Arguments, _ path: String?
  ) throws(UsageError) -> (attester: AttesterSettings, courier: Privilege.User) {
    var courier = arguments
    guard let user = try DeviceOptions.user(&courier, "--courier", DeviceOptions.courierUser) else {
      throw UsageError("as root, run needs a user \(DeviceOptions.courierUser) to become, or --courier USER")
    }
    let settings = try DeviceOptions.settings(&arguments, path)
    guard settings.user != nil else {
      throw UsageError("as root, run needs a user \(DeviceOptions.attesterUser) for the attester, or --user USER")
    }
    return (settings, user)
  }

  func run() -> Int32 {
    do {
      if let both {
        _ = try AttesterProcess.start(both.attester)
        try Privilege.giveUp(to: both.courier)
      }
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
