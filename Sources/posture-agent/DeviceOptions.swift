import Glibc
import Posture
import PostureAttester
import PosturePlatform
import PostureTerminal

/// Options that several verbs share: where the device's files are and whose they are.
enum DeviceOptions {
  static let attesterUser = "posture-attest"
  static let courierUser = "posture"

  /// The configuration, with what the command line says instead.
  static func configuration(
    _ arguments: inout Arguments, _ path: String? = nil
  ) throws(UsageError) -> AgentConfiguration {
    var configuration: AgentConfiguration
    let path = try arguments.option("--config") ?? path
    do throws(ConfigurationError) { configuration = try Configured.load(path) } catch {
      throw UsageError(error.description)
    }
    configuration.state = try arguments.option("--folder") ?? configuration.state
    configuration.socket = try arguments.option("--socket") ?? configuration.socket
    return configuration
  }

  static func folder(_ arguments: inout Arguments) throws(UsageError) -> DeviceFolder {
    DeviceFolder(try configuration(&arguments).state)
  }

  static func settings(_ arguments: inout Arguments, _ path: String? = nil) throws(UsageError) -> AttesterSettings {
    let configuration = try configuration(&arguments, path)
    var settings = AttesterSettings()
    settings.folder = DeviceFolder(configuration.state)
    settings.socket = configuration.socket
    settings.root = try arguments.option("--root") ?? "/"
    settings.user = try user(&arguments, "--user", attesterUser)
    settings.courier = try user(&arguments, "--courier", courierUser)?.uid
    settings.trustsClock = arguments.flag("--trusted-clock") || configuration.clock == .trusted
    // One report may be lost, and the next may take its time.
    settings.reportLife =
      try arguments.number("--report-life", in: 60...2_678_400).map { Int64($0) }
      ?? Int64(configuration.period * 2 + 300)
    return settings
  }

  /// The user that is named, or the usual one where there is one. Only root can be somebody else.
  static func user(
    _ arguments: inout Arguments, _ option: String, _ usual: String
  ) throws(UsageError) -> Privilege.User? {
    guard let text = try arguments.option(option) else { return geteuid() == 0 ? Privilege.User(usual) : nil }
    guard let user = Privilege.User(text) else { throw UsageError("\(option): no such user, or root: \(text)") }
    return user
  }
}
