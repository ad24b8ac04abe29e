import Posture
import PostureFleet
import PosturePlatform
import PostureTokens

/// The controller of the floor's fleet: gathers, asks, collects, and verifies each message once.
final class BareCollector {
  /// What can be verified of one device, by the topic's last level.
  private struct Known {
    let credential: BareMessage
    let presence: BareMessage
    let progress: BareMessage
    let report: BareMessage
    let key: BareKey
    var replies = 0
  }

  private let client: BareClient
  private let issuer: BareKey
  private let site: Name
  private var known: [String: Known] = [:]
  private var verified = 0

  init(_ kits: [DeviceKit], at site: BenchSite) throws(BenchError) {
    self.site = site.home.site
    guard let issuer = site.issuer.key as? FileKey else { throw BenchError("the issuer's key is not in a file") }
    self.issuer = try BareKey(issuer)
    for kit in kits {
      known[kit.party.name.description] = Known(
        credential: try BareMessage(kit.credential), presence: try BareMessage(kit.presence),
        progress: try BareMessage(kit.progress), report: try BareMessage(kit.report), key: try BareKey(kit.key))
    }
    client = try BareClient(
      nil, Identity.tls(.controller, in: site.home), port: site.home.settings.operatorPort)
    client.onMessage = { [unowned self] in take($0) }
  }

  /// `posture/v1/bench/d/NAME/LEAF`; a device's first reply is its progress.
  private func take(_ topic: String) {
    let levels = topic.split(separator: "/")
    guard levels.count == 6 else { return }
    let name = String(levels[4])
    guard let device = known[name] else { return }
    verified += 1
    switch levels[5] {
    case "keys": issuer.verify(device.credential)
    case "presence": device.key.verify(device.presence)
    default:
      device.key.verify(device.replies == 0 ? device.progress : device.report)
      known[name]?.replies += 1
    }
  }

  func gather() throws(BenchError) {
    try client.subscribe(["keys", "presence", "reply"].map { "\(Topic.prefix)/\(site)/d/+/\($0)" })
    let goal = 2 * known.count
    try client.wait(240, "what is retained") { [unowned self] _ in verified >= goal }
  }

  func recheck(_ command: BareMessage, _ controller: BareKey) throws(BenchError) {
    verified = 0
    controller.sign(command.signed)
    try client.publish(Topic(site, .recheckAll).text, command.token, retain: false)
    let goal = 2 * known.count
    try client.wait(240, "answers") { [unowned self] _ in verified >= goal }
  }
}
