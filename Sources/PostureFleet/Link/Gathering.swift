public import Posture
import PosturePlatform
import PostureMQTT
public import PostureTokens

/// What the broker keeps of a site, or of one device, right now.
public enum Gathering {
  /// Connects as `role`, takes in what is retained on `filters` (below the site) until none has come for a while, and
  /// gives the link back for what comes then.
  /// - Parameter verifier: what is known already; nil: what the folder remembers.
  public static func start(
    _ home: Home, as role: Role, _ filters: [String], knowing verifier: MonitorVerifier? = nil, quiet: Int64 = 300
  ) throws -> (fleet: Fleet, link: OperatorLink) {
    var fleet = try verifier.map(Fleet.init(knowing:)) ?? Fleet(trust: TrustMemory.load(home))
    let root = "\(Topic.prefix)/\(home.site)"
    let link = try OperatorLink(
      home, as: role, subscribe: (["trust", "revoked", "revoked/+"] + filters).map { "\(root)/\($0)" })
    try link.waitOnline()
    let isAll = try link.gather(quiet: quiet) { message in
      _ = fleet.receive(message.payload, on: message.topic, isRetained: message.retained, at: Clock.wall)
    }
    guard isAll else { throw LinkError(description: "the broker does not come to an end of what it keeps") }
    TrustMemory.save(fleet.verifier, home)
    return (fleet, link)
  }

  /// Everything of one device.
  public static func filters(of device: Name) -> [String] {
    ["keys", "presence", "report", "event"].map { "d/\(device)/\($0)" }
  }

  /// Everything of all.
  public static let allDevices = ["keys", "presence", "report", "event"].map { "d/+/\($0)" }
}
