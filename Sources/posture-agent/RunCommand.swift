import Glibc
import Posture
import PostureAttester
import PostureCourier
import PosturePlatform
import PostureTerminal

/// `posture-agent run`: the courier, until SIGTERM. Started as root it starts the attester first, and is root no more;
/// with `--alone` it leaves both to whoever started it.
struct RunCommand {
  private let path: String?
  private let isAlone: Bool
  private let attester: Privilege.User?
  private let courier: Privilege.User?

  init(_ arguments: inout Arguments) throws(UsageError) {
    path = try arguments.option("--config")
    isAlone = arguments.flag("--alone")
    attester = isAlone ? nil : try DeviceOptions.user(&arguments, "--user", DeviceOptions.attesterUser)
    courier = isAlone ? nil : try DeviceOptions.user(&arguments, "--courier", DeviceOptions.courierUser)
    try arguments.end()
    if !isAlone { try DeviceOptions.demand(attester, courier) }
  }

  func run() -> Int32 {
    do {
      // Ends with this process.
      let kept = try startAttester()
      let status = try carry()
      _ = consume kept
      return status
    } catch {
      Terminal.error("<3>posture-agent: \(error)")
      return ExitStatus.failed
    }
  }

  private func startAttester() throws -> AttesterProcess.Kept? {
    guard !isAlone, geteuid() == 0, let courier else { return nil }
    let kept = try AttesterProcess.start(
      DeviceOptions.settings(try Configured.load(path), attester: attester, courier: courier))
    try Privilege.become(courier)
    return kept
  }

  private func carry() throws(ConfigurationError) -> Int32 {
    // The transport key is in it.
    Privilege.hideMemory()
    return try Courier { () throws(ConfigurationError) in
      let configuration = try Configured.load(path)
      return (configuration, try Enrolment(DeviceFolder(configuration.state)))
    }.run()
  }
}
