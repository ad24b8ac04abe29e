import Posture
import PostureFleet
import PosturePlatform
import PostureTokens

/// The controller of the floor's fleet: gathers, asks, collects, and verifies each message once.
final class BareCollector {
  private let client: BareClient
  private let site: Name
  private let devices: Int
  /// One device's tokens stand for everybody's: the size and the work are the same.
  private let credential: BareMessage
  private let presence: BareMessage
  private let progress: BareMessage
  private let report: BareMessage
  private let issuer: BareKey
  private let key: BareKey
  private var verified = 0
  private var replies = 0

  init(_ sample: DeviceKit, devices: Int, at home: Home) throws(BenchError) {
    site = home.site
    self.devices = devices
    do { issuer = try BareKey(try Identity(.issuer, in: home).key) } catch { throw BenchError("\(error)") }
    key = try BareKey(sample.key)
    (credential, presence) = (try BareMessage(sample.credential), try BareMessage(sample.presence))
    (progress, report) = (try BareMessage(sample.progress), try BareMessage(sample.report))
    client = try BareClient(nil, Identity.tls(.controller, in: home), port: home.settings.operatorPort)
    client.onMessage = { [unowned self] in take($0) }
  }

  private func take(_ topic: String) {
    verified += 1
    if topic.hasSuffix("/keys") {
      issuer.verify(credential)
    } else if topic.hasSuffix("/presence") {
      key.verify(presence)
    } else {
      // Half of the replies are progress.
      key.verify(replies % 2 == 0 ? progress : report)
      replies += 1
    }
  }

  func gather() throws(BenchError) {
    try client.subscribe(["keys", "presence", "reply"].map { "\(Topic.prefix)/\(site)/d/+/\($0)" })
    let goal = 2 * devices
    try client.wait(240, "what is retained") { [unowned self] _ in verified >= goal }
  }

  func recheck(_ command: BareMessage, _ controller: BareKey) throws(BenchError) {
    verified = 0
    controller.sign(command.signed)
    try client.publish(Topic(site, .recheckAll).text, command.token, retain: false)
    let goal = 2 * devices
    try client.wait(240, "answers") { [unowned self] _ in verified >= goal }
  }
}
