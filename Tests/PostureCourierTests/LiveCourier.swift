import Glibc
import Posture
import PosturePlatform
import PostureMQTT
import PostureTokens
import Synchronization
import TestKit
import Testing

/// A real `posture-agent run`, a real broker, a scripted attester, and somebody who watches the broker.
final class LiveCourier {
  static let program = Path.join(Repository.products, "posture-agent")

  let folder: Folder
  let site: TestSite
  let broker: Broker
  let attester: ScriptedAttester
  let device: Party
  let inbox: Inbox
  let watcher: Client
  private(set) var agent: RunningProcess?
  /// Everything the broker has delivered, in order.
  private(set) var seen: [Message] = []

  init(_ options: Broker.Options = Broker.Options(), group: String = "lathe") throws {
    folder = try Folder()
    site = try TestSite(now: Clock.wall)
    broker = try Broker(options)
    device = site.party("dev-1")
    attester = try ScriptedAttester(folder.file("attester.sock"), party: device)
    inbox = try Inbox()
    var settings = Client.Settings(.plain(host: "127.0.0.1", port: broker.plainPort))
    settings.session.subscriptions = [Subscription("posture/v1/#")]
    settings.session.backoff.soon = 50
    settings.session.backoff.soonCap = 100
    watcher = try Client(settings, inbox: inbox)
    try enroll(group)
    try expect(5_000) { if case .online = $0 { true } else { false } }
  }

  deinit { agent?.crash() }

  private func enroll(_ group: String) throws {
    let identity = try broker.identity(device.name.description)
    let courier = folder.file("courier")
    mkdir(courier, 0o700)
    func text(_ path: String) throws -> String {
      String(decoding: try AtomicFile.readAny(path), as: UTF8.self)
    }
    let groups = [Name(group)!]
    let bundle = EnrolmentBundle(
      party: device, role: .device, groups: groups,
      credential: try site.credential("dev-1", attester.key.publicKey, groups: groups),
      tlsCertificate: try text(identity.certificate), tlsAuthority: try text(identity.authorities),
      root: site.root.jwk, trust: try site.trust(),
      broker: .init(host: "127.0.0.1", port: Int(broker.port), serverName: "127.0.0.1"))
    try AtomicFile.write(bundle.json.bytes, to: "\(courier)/bundle.json")
    try AtomicFile.write(try AtomicFile.readAny(identity.key), to: "\(courier)/tls-key.pem")
    try configure("{\"state\": \"\(folder.path)\", \"socket\": \"\(attester.path)\", \"clock\": \"trusted\"}")
  }

  func configure(_ text: String) throws { try folder.write("agent.json", text) }

  func start() throws {
    agent = try RunningProcess(
      Self.program, ["run", "--alone", "--config", folder.file("agent.json")], log: folder.file("log"))
  }

  var log: String { (try? AtomicFile.readAny(folder.file("log"))).map { String(decoding: $0, as: UTF8.self) } ?? "" }

  // MARK: Watching

  private struct Missing: Error, CustomStringConvertible {
    let description: String
  }

  /// Waits for an event of the watcher's client.
  func expect(_ milliseconds: Int64, _ isIt: (ClientEvent) -> Bool) throws {
    let until = Clock.monotonicMilliseconds + milliseconds
    while Clock.monotonicMilliseconds < until {
      guard let event = inbox.next(50) else { continue }
      if case .message(let message) = event { seen.append(message) }
      if isIt(event) { return }
    }
    throw Missing(description: "nothing of the kind within \(milliseconds) ms\n\(log)")
  }

  func topic(_ place: Topic.Place) -> String { Topic(site.name, place).text }

  /// The next message on the topic that `isIt` takes; its claims.
  @discardableResult
  func message(
    _ place: Topic.Place, within milliseconds: Int64 = 8_000, _ isIt: (JSON) -> Bool = { _ in true }
  ) throws -> (token: String, claims: JSON) {
    var found: (String, JSON)?
    let topic = topic(place)
    try expect(milliseconds) { event in
      guard case .message(let message) = event, message.topic == topic, let text = message.text,
        let claims = Self.claims(text), isIt(claims)
      else { return false }
      found = (text, claims)
      return true
    }
    return try #require(found)
  }

  static func claims(_ token: String) -> JSON? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(parts[1]) else { return nil }
    return try? JSONParser.parse(payload)
  }

  /// Looks at what comes for a while.
  func look(_ milliseconds: Int64) {
    try? expect(milliseconds) { _ in false }
  }

  func send(_ token: String, _ place: Topic.Place, retain: Bool = false) {
    watcher.publish(Publication(topic(place), Array(token.utf8), retain: retain))
  }

  /// Started, connected, its first report seen.
  func ready() throws {
    try start()
    try message(.report(device.name))
  }

  func eventually(_ milliseconds: Int64 = 8_000, _ isSo: () -> Bool) -> Bool {
    TestKit.eventually(milliseconds, pause: { look(50) }, isSo)
  }
}
