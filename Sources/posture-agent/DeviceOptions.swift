import Glibc
import Posture
import PostureAttester
import PosturePlatform
import PostureTerminal

/// Options that several verbs share: where the device's files are and whose they are.
enum DeviceOptions {
  static let attesterUser = "posture-attest"
  static let courierUser = "posture"

  /// What the command line may say instead of the configuration.
  enum Place: String {
    case folder = "--folder"
    case socket = "--socket"
  }

  /// The configuration, with those places that the verb looks at.
  static func configuration(
    _ arguments: inout Arguments, _ places: Place...
  ) throws(UsageError) -> AgentConfiguration {
    var configuration: AgentConfiguration
    let path = try arguments.option("--config")
    do throws(ConfigurationError) { configuration = try Configured.load(path) } catch {
      throw UsageError(error.description)
    }
    for place in places {
      guard let path = try arguments.option(place.rawValue) else { continue }
      switch place {
      case .folder: configuration.state = path
      case .socket: configuration.socket = path
      }
    }
    return configuration
  }

  static func settings(_ arguments: inout Arguments) throws(UsageError) -> AttesterSettings {
    var settings = settings(
      try configuration(&arguments, .folder, .socket), attester: try user(&arguments, "--user", attesterUser),
      courier: try user(&arguments, "--courier", courierUser))
    settings.root = try arguments.option("--root") ?? "/"
    if arguments.flag("--trusted-clock") { settings.trustsClock = true }
    if let life = try arguments.number("--report-life", in: 60...2_678_400) { settings.reportLife = Int64(life) }
    return settings
  }

  static func settings(
    _ configuration: AgentConfiguration, attester: Privilege.User?, courier: Privilege.User?
  ) -> AttesterSettings {
    var settings = AttesterSettings()
    settings.folder = DeviceFolder(configuration.state)
    settings.socket = configuration.socket
    settings.user = attester
    settings.courier = courier?.uid
    settings.trustsClock = configuration.clock == .trusted
    // One report may be lost, and the next may take its time.
    settings.reportLife = Int64(configuration.period * 2 + 300)
    return settings
  }

  /// The user that is named, or the usual one where there is one.
  static func user(
    _ arguments: inout Arguments, _ option: String, _ usual: String
  ) throws(UsageError) -> Privilege.User? {
    guard let text = try arguments.option(option) else { return Privilege.User(usual) }
    guard let user = Privilege.User(text) else { throw UsageError("\(option): no such user, or root: \(text)") }
    return user
  }

  /// Root has to name both: neither attester nor courier may be root.
  static func demand(_ attester: Privilege.User?, _ courier: Privilege.User?) throws(UsageError) {
    guard geteuid() != 0 || (attester != nil && courier != nil) else {
      throw UsageError(
        "as root, --user and --courier are needed where there is no \(attesterUser) or no \(courierUser)")
    }
  }
}
