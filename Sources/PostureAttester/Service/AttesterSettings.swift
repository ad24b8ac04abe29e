public import PosturePlatform

/// How the attester's process is to run: what the command line and the configuration say.
public struct AttesterSettings: Hashable, Sendable {
  public var folder = DeviceFolder.standard
  public var socket = DeviceFolder.standardSocket
  /// The directory whose system is examined.
  public var root = "/"
  /// Whom to become where it is started as root.
  public var user: Privilege.User?
  /// Whose requests are answered beside root's and its own.
  public var courier: UInt32?
  /// Somebody vouches for the clock, whatever the kernel says of it.
  public var trustsClock = false
  /// Seconds that a report is good for; nil: the standard.
  public var reportLife: Int64?

  public init() {}

  /// The words of a command line that says the same.
  var arguments: [String] {
    var words = ["--folder", folder.path, "--socket", socket, "--root", root]
    if let user { words += ["--user", "\(user.uid):\(user.gid)"] }
    if let courier { words += ["--courier", String(courier)] }
    if trustsClock { words.append("--trusted-clock") }
    if let reportLife { words += ["--report-life", String(reportLife)] }
    return words
  }
}
