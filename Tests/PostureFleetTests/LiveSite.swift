import Glibc
import Posture
import PostureFleet
import PostureMQTT
import PosturePlatform
import PostureTokens
import Synchronization
import TestKit

/// A site made by `init` with its broker running: a real mosquitto with the configuration that was written.
final class LiveSite {
  let folder: Folder
  let home: Home
  private var broker: RunningProcess
  /// A door of the broker that asks nobody, where there is one: for a test that plays thousands of devices.
  let openPort: UInt16?

  init(isOpen: Bool = false) throws {
    folder = try Folder()
    let (devices, operators) = (try Loopback.freePort(), try Loopback.freePort())
    openPort = isOpen ? try Loopback.freePort() : nil
    var options = SiteBuilder.Options(
      site: Name("site-a")!, hosts: ["localhost", "127.0.0.1"],
      deviceListener: .init(address: "127.0.0.1", port: Int(devices)),
      operatorListener: .init(address: "127.0.0.1", port: Int(operators)))
    options.trustLife = 100_000
    home = try SiteBuilder.build(folder.file("home"), options, at: Clock.wall)
    if let openPort {
      let file = home.path("broker/mosquitto.conf")
      try Home.write(try Home.read(text: file) + "\nlistener \(openPort) 127.0.0.1\nallow_anonymous true\n", to: file)
    }
    broker = try Self.startBroker(home, folder)
    for _ in 0..<500 where !(Loopback.isOpen(devices) && Loopback.isOpen(operators)) { usleep(10_000) }
    let desk = try IssuerDesk(home)
    let link = try OperatorLink(home, as: .issuer, subscribe: [])
    try link.waitOnline()
    for publication in try desk.publications() { try link.publish(publication) }
    link.close()
  }

  deinit { broker.crash() }

  private static func startBroker(_ home: Home, _ folder: Folder) throws -> RunningProcess {
    try RunningProcess(Broker.program, ["-c", home.path("broker/mosquitto.conf")], log: folder.file("log"))
  }

  func stopBroker() { broker.crash() }
  func startBroker() throws { broker = try Self.startBroker(home, folder) }

  var brokerLog: String {
    (try? AtomicFile.readAny(folder.file("log"))).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// The built program, run to its end.
  func posturectl(_ arguments: String...) throws -> Command.Output { try posturectl(arguments) }

  func posturectl(_ arguments: [String]) throws -> Command.Output {
    var command = Command(Path.join(Repository.products, "posturectl"), arguments + ["--home", home.folder])
    command.timeout = 60_000
    return try command.run()
  }

  /// What the broker keeps on a topic below the site.
  func retained(_ topic: String) throws -> String? {
    let link = try OperatorLink(home, as: .monitor, subscribe: ["\(Topic.prefix)/\(home.site)/\(topic)"])
    try link.waitOnline()
    defer { link.close() }
    var text: String?
    _ = try link.gather { text = String(decoding: $0.payload, as: UTF8.self) }
    return text
  }

  /// Enrolled, not started. `replaces`: with new keys, beside the ones it had.
  func device(_ name: String, groups: [String] = [], replaces: Bool = false) throws -> SimulatedDevice {
    let files = folder.file(name)
    mkdir(files, 0o700)
    let (key, tlsKey) = (try FileKey.generate(), try FileKey.generate())
    let request = try EnrolmentRequest.make(name: Name(name), key: key, tlsKey: tlsKey, host: "test", at: Clock.wall)
    var options = EnrolmentDesk.Options()
    options.groups = groups.compactMap { Name($0) }
    options.replaces = replaces
    let bundle = try EnrolmentDesk(home).enroll(try EnrolmentRequest(Array(request.utf8)), options, at: Clock.wall)
    try tlsKey.save("\(files)/tls.key")
    try Home.write(bundle.tlsCertificate, to: "\(files)/tls.pem")
    try Home.write(bundle.tlsAuthority, to: "\(files)/ca.pem")
    return try SimulatedDevice(bundle, key, files: files)
  }
}

/// A device with a real key, credential and connection, and evidence that the test chooses.
final class SimulatedDevice: Sendable {
  private struct State {
    var seq: Int64 = 0
    var facts = ProbeResult()
    var refuses: RefusalCode?
    var isDeaf = false
  }

  let party: Party
  private let bundle: EnrolmentBundle
  private let key: FileKey
  private let files: String
  private let state = Mutex(State())
  private let client: Client
  private let inbox: Inbox
  private let connection = Base64URL.encode(Random.bytes(12))

  fileprivate init(_ bundle: EnrolmentBundle, _ key: FileKey, files: String) throws {
    (party, self.bundle, self.key, self.files) = (bundle.party, bundle, key, files)
    inbox = try Inbox()
    let tls = TLSFiles(
      authorities: "\(files)/ca.pem", certificate: "\(files)/tls.pem", key: "\(files)/tls.key",
      serverName: bundle.broker.serverName)
    var settings = Client.Settings(.tls(host: "localhost", port: UInt16(bundle.broker.port), tls))
    settings.user = (party.name.description, "")
    let own = [Topic(party.site, .recheckDevice(party.name)), Topic(party.site, .recheckAll)].map(\.text)
    settings.session.subscriptions =
      (own + ["\(Topic.prefix)/\(party.site)/g/+/cmd/recheck"]).map { Subscription($0, wantsRetained: false) }
    client = try Client(settings, inbox: inbox)
  }

  var kid: String { key.publicKey.kid }

  func change(_ body: (inout ProbeResult) -> Void) { state.withLock { body(&$0.facts) } }
  /// Takes commands and says nothing.
  func ignore() { state.withLock { $0.isDeaf = true } }
  func refuse(_ code: RefusalCode?) { state.withLock { $0.refuses = code } }

  /// Serves in a thread of its own until the connection ends.
  func start(withKeys: Bool = true) throws {
    while true {
      if case .online = inbox.next(10_000) { break }
    }
    if withKeys { publishState() } else { publish(.report(party.name), .report, report(nonces: [])) }
    _ = try Thread.start("device") { [self] in serve() }
  }

  /// Uses its numbers again, as a device does whose state was put back.
  func rewind() { state.withLock { $0.seq = 0 } }

  func stop() { client.stop(last: presence(.offline)) }

  func publishState() {
    publish(.keys(party.name), .credential, bundle.credential)
    client.publish(presence(.online))
    publish(.report(party.name), .report, report(nonces: []))
  }

  private func presence(_ state: PresenceClaims.State) -> Publication {
    let claims = PresenceClaims(
      issuer: party, issuedAt: Clock.wall, state: state, connection: connection, number: 1, clock: .synced)
    return Publication(
      Topic(party.site, .presence(party.name)).text, text: sign(.presence, claims.claims), retain: true)
  }

  func publish(_ place: Topic.Place, _ kind: TokenKind, _ token: String) {
    let topic = Topic(party.site, place)
    client.publish(Publication(topic.text, text: token, retain: topic.isRetained))
  }

  func report(nonces: [String]) -> String {
    let (seq, facts) = state.withLock { state in
      state.seq += 1
      return (state.seq, state.facts)
    }
    let now = Clock.wall
    let claims = ReportClaims(
      issuer: party, ueid: "AX88mhviXUQIpsHQ6Ut3E_I", issuedAt: now, expires: now + 3_900, nonces: nonces,
      bootSeed: "ABEiM0RVZneImaq7", uptime: 100, sequence: seq, clock: .synced, cause: .recheck, keyProtection: .file,
      chain: .init(chain: "chain-0001", number: 0, digest: nil), policyDigest: Policy.entry.digest,
      evidence: Judge.evidence(of: facts, under: .entry))
    return sign(.report, claims.claims)
  }

  func sign(_ kind: TokenKind, _ claims: JSON) -> String {
    (try? TokenEncoder.encode(kind, claims, with: key)) ?? ""
  }

  private func serve() {
    while let event = inbox.next(120_000) {
      if case .message(let message) = event { answer(message) }
      if event == .ended { return }
    }
  }

  /// Verifies as a device does, and answers.
  private func answer(_ message: Message) {
    guard !state.withLock({ $0.isDeaf }), let topic = Topic(message.topic), let trust = bundle.trust,
      var store = try? TrustStore(site: party.site, root: bundle.root),
      (try? store.accept(Array(trust.utf8), at: Moment(Clock.wall))) != nil
    else { return }
    let verifier = DeviceVerifier(device: party, groups: bundle.groups, trust: store)
    guard let command = try? verifier.command(message.payload, on: topic, at: Moment(Clock.wall)) else { return }
    let progress = ProgressClaims(
      issuer: party, issuedAt: Clock.wall, command: command.claims.id, state: .accepted)
    publish(.reply(party.name), .progress, sign(.progress, progress.claims))
    if let code = state.withLock({ $0.refuses }) {
      let refusal = RefusalClaims(
        issuer: party, issuedAt: Clock.wall, command: command.claims.id, controller: command.kid, code: code)
      return publish(.reply(party.name), .refusal, sign(.refusal, refusal.claims))
    }
    let token = report(nonces: [command.claims.nonce])
    publish(.report(party.name), .report, token)
    publish(.reply(party.name), .report, token)
  }
}

extension ProbeResult {
  /// A healthy device: one owner, who has to prove it.
  static var healthy: ProbeResult {
    var facts = ProbeResult()
    facts.subjects = [Subject(name: "alice", uid: 1_000, kind: .owner, account: .active, password: .set)]
    facts.doors = [Door("login@console", .entry, "alice", .passcode, because: [Reason("pam.unix")])]
    return facts
  }

  /// The same with an open console.
  static var open: ProbeResult {
    var facts = healthy
    facts.doors.append(
      Door(
        "login@tty1", .entry, "alice", .always, because: [Reason("agetty.autologin", file: "/etc/x.conf", line: 3)],
        cause: Cause("openEntry", observed: "agetty --autologin alice")))
    return facts
  }
}
