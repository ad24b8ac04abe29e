public import Posture
public import PosturePlatform
import PostureMQTT
import PostureTokens

/// Who this device is to its broker and whom it obeys: what the enrolment left in the courier's folder.
public struct Enrolment: Sendable {
  public let bundle: EnrolmentBundle
  let folder: DeviceFolder

  init(_ bundle: EnrolmentBundle, _ folder: DeviceFolder) {
    self.bundle = bundle
    self.folder = folder
  }

  public init(_ folder: DeviceFolder) throws(ConfigurationError) {
    self.folder = folder
    do {
      bundle = try EnrolmentBundle(
        json: try JSONParser.parse(try AtomicFile.read(folder.courierBundle, cap: 256 << 10), limits: Self.limits))
    } catch let error as SystemError where error.isMissing {
      throw ConfigurationError("this device is not enrolled: \(error)")
    } catch { throw ConfigurationError("\(folder.courierBundle): \(error)") }
    guard bundle.role == .device else { throw ConfigurationError("\(folder.courierBundle): not a device's") }
  }

  private static let limits = JSONParser.Limits(bytes: 256 << 10, depth: 8)

  var device: Party { bundle.party }

  func clientSettings(_ configuration: AgentConfiguration) -> Client.Settings {
    let broker = configuration.broker ?? bundle.broker
    let files = TLSFiles(
      authorities: .text(bundle.tlsAuthority), certificate: .text(bundle.tlsCertificate),
      key: .file(folder.courierKey), serverName: broker.serverName)
    var settings = Client.Settings(
      .tls(host: broker.host, port: UInt16(clamping: broker.port), files), clientID: device.name.description)
    // mosquitto takes the name from the certificate; other brokers want it said, and compare.
    settings.user = (device.name.description, "")
    settings.keepalive = configuration.keepalive
    settings.session.preparesEachAttempt = true
    settings.session.backoff.soonCap = Int64(configuration.longestWait) * 1_000
    settings.session.subscriptions = subscriptions
    return settings
  }

  /// Everything by its own topic: a device reads nothing that is not for it.
  var subscriptions: [Subscription] {
    let site = device.site
    let documents: [Topic.Place] =
      [.trust, .policy, .presence(device.name), .renewal(device.name)] + bundle.groups.map(Topic.Place.groupPolicy)
    let commands: [Topic.Place] =
      [.recheckDevice(device.name), .recheckAll] + bundle.groups.map(Topic.Place.recheckGroup)
    return documents.map { Subscription(Topic(site, $0).text) }
      + commands.map { Subscription(Topic(site, $0).text, wantsRetained: false) }
  }

  /// What was known of the trust documents at the enrolment and since.
  func verifier() throws(ConfigurationError) -> DeviceVerifier {
    var trust: TrustStore
    do throws(KeyError) { trust = try TrustStore(site: device.site, root: bundle.root) } catch {
      throw ConfigurationError("root: \(error)")
    }
    if let bytes = try? AtomicFile.read(trustFile), let saved = try? JSONParser.parse(bytes) { trust.restore(saved) }
    if let token = bundle.trust { _ = try? trust.accept(Array(token.utf8), at: Moment(0, isTrusted: false)) }
    return DeviceVerifier(device: device, groups: bundle.groups, trust: trust)
  }

  var trustFile: String { Path.join(folder.courier, "trust.json") }
  var memoryFile: String { Path.join(folder.courier, "commands.json") }
}
