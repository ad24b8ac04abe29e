import Glibc
import Posture
import PostureFleet
import PostureMQTT
import PosturePlatform
import PostureTokens
import Synchronization
import TestKit
import Testing

/// What `init`'s broker lets each role do, by trying everything with real clients.
@Suite(.serialized, .enabled(if: Broker.isInstalled)) struct BrokerRulesTests {
  /// Somebody who is connected, and what reached them.
  private final class Client: @unchecked Sendable {
    // Used by the one thread of the test.
    let name: String
    private let client: PostureMQTT.Client
    private let inbox: Inbox
    private var seen: Set<String> = []

    init(_ name: String, port: UInt16, _ tls: TLSFiles) throws {
      self.name = name
      inbox = try Inbox()
      var settings = PostureMQTT.Client.Settings(.tls(host: "localhost", port: port, tls))
      settings.session.subscriptions = [Subscription("#")]
      client = try PostureMQTT.Client(settings, inbox: inbox)
      while true {
        guard let event = inbox.next(10_000) else { throw LinkFailure(name: name) }
        if case .online = event { break }
      }
    }

    struct LinkFailure: Error { var name: String }

    /// Whether the broker took it.
    func publish(_ topic: String, _ text: String) -> Bool {
      let ticket = client.publish(Publication(topic, text: text))
      while let event = inbox.next(5_000) {
        note(event)
        if case .completed(ticket, let outcome) = event { return outcome == .taken }
      }
      return false
    }

    func drain() {
      while let event = inbox.next(300) { note(event) }
    }

    private func note(_ event: ClientEvent) {
      if case .message(let message) = event { seen.insert("\(message.topic) \(message.text ?? "")") }
    }

    func hasSeen(_ topic: String, _ text: String) -> Bool { seen.contains("\(topic) \(text)") }

    deinit { client.stop() }
  }

  /// Topics by a short name; `own` is edge-1's, `other` another device's, `foreign` another site's.
  private static let topics: [(String, String)] = {
    let site = Name("site-a")!
    let (own, other) = (Name("edge-1")!, Name("edge-2")!)
    let places: [(String, Topic.Place)] = [
      ("own.report", .report(own)), ("own.event", .event(own)), ("own.presence", .presence(own)),
      ("own.reply", .reply(own)), ("own.keys", .keys(own)), ("own.request", .request(own)),
      ("own.renewal", .renewal(own)), ("own.cmd", .recheckDevice(own)),
      ("other.report", .report(other)), ("other.event", .event(other)), ("other.presence", .presence(other)),
      ("other.reply", .reply(other)), ("other.keys", .keys(other)), ("other.request", .request(other)),
      ("other.renewal", .renewal(other)), ("other.cmd", .recheckDevice(other)),
      ("g.cmd", .recheckGroup(Name("lathe")!)), ("all.cmd", .recheckAll), ("trust", .trust), ("revoked", .revoked),
      ("revoked.1", .revokedPart(1)), ("policy", .policy), ("g.policy", .groupPolicy(Name("lathe")!)),
    ]
    // Were an operator a device, these would be its own.
    var operators: [(String, Topic.Place)] = []
    for role in SiteBuilder.roles {
      let name = Name(role.rawValue)!
      operators += [("\(name).report", .report(name)), ("\(name).cmd", .recheckDevice(name))]
    }
    let foreign = Topic(Name("site-b")!, .report(own)).text
    let ownReport = Topic(site, .report(own)).text
    return (places + operators).map { ($0, Topic(site, $1).text) } + [
      ("foreign", foreign), ("stranger", "anything/else"), ("own.deeper", "\(ownReport)/more"),
      ("own.unknown", "\(ownReport)s"), ("nobody's", "\(Topic.prefix)/\(site)/d//report"),
    ]
  }()

  private static let deviceMessages = ["report", "event", "presence", "reply", "keys"]
  private static func of(_ whose: String) -> [String] { deviceMessages.map { "\(whose).\($0)" } }
  private static let seen = of("own") + of("other") + ["trust", "revoked", "revoked.1"]

  /// Written by hand, apart from the configuration.
  private static let rights: [(role: String, write: [String], read: [String])] =
    [
      (
        "device", of("own") + ["own.request"],
        ["own.cmd", "own.presence", "own.renewal", "g.cmd", "all.cmd", "trust", "policy", "g.policy"]
      ),
      (
        "controller", ["own.cmd", "other.cmd", "g.cmd", "all.cmd"] + SiteBuilder.roles.map { "\($0.rawValue).cmd" },
        seen
      ),
      ("monitor", [], seen + ["policy", "g.policy"]),
      ("policy", ["policy", "g.policy"], ["policy", "g.policy", "trust"]),
      (
        "issuer", ["trust", "revoked", "revoked.1", "own.renewal", "other.renewal"],
        ["trust", "revoked", "revoked.1", "own.request", "other.request"]
      ),
      ("device at the operators' door", [], []),
    ] + SiteBuilder.roles.map { (atTheDevicesDoor($0), [], []) }

  private static func atTheDevicesDoor(_ role: Role) -> String { "\(role.rawValue) at the devices' door" }

  @Test func `each role may do its own and nothing else, on every topic`() throws {
    let site = try LiveSite()
    let settings = site.home.settings
    _ = try site.device("edge-1")
    _ = try site.device("edge-2")
    let tls = { (name: String) in Self.tls(site, name) }
    var clients: [String: Client] = [:]
    clients["device"] = try Client("device", port: settings.devicePort, tls("edge-1"))
    clients["device at the operators' door"] = try Client("x", port: settings.operatorPort, tls("edge-1"))
    for role in SiteBuilder.roles {
      clients[role.rawValue] = try Client(
        role.rawValue, port: settings.operatorPort, Identity.tls(role, in: site.home))
      clients[Self.atTheDevicesDoor(role)] = try Client(
        "\(role.rawValue) at the other door", port: settings.devicePort, Identity.tls(role, in: site.home))
    }
    let other = try Client("other", port: settings.devicePort, tls("edge-2"))

    // Who may write, by the broker's own answer.
    for (role, write, _) in Self.rights {
      for (name, topic) in Self.topics {
        let taken = clients[role]!.publish(topic, "by \(role)")
        #expect(taken == write.contains(name), "\(role) writes \(name)")
      }
    }
    // Who may read, of what somebody who may has written.
    let writers = Self.rights.map { ($0.role, $0.write) } + [("other", Self.of("other") + ["other.request"])]
    clients["other"] = other
    for (name, topic) in Self.topics {
      guard let writer = writers.first(where: { $0.1.contains(name) })?.0 else { continue }
      #expect(clients[writer]!.publish(topic, "for readers"))
    }
    for client in clients.values { client.drain() }
    for (role, _, read) in Self.rights {
      for (name, topic) in Self.topics where writers.contains(where: { $0.1.contains(name) }) {
        #expect(clients[role]!.hasSeen(topic, "for readers") == read.contains(name), "\(role) reads \(name)")
      }
    }
  }

  private static func tls(_ site: LiveSite, _ name: String) -> TLSFiles {
    let files = site.folder.file(name)
    return TLSFiles(authorities: "\(files)/ca.pem", certificate: "\(files)/tls.pem", key: "\(files)/tls.key")
  }

  /// mosquitto's own client as edge-1, with a client id and a will of its choice.
  private func edge1(_ site: LiveSite, id: String, will: String) throws -> RunningProcess {
    let files = site.folder.file("edge-1")
    return try RunningProcess(
      "/usr/bin/mosquitto_sub",
      [
        "--cafile", "\(files)/ca.pem", "--cert", "\(files)/tls.pem", "--key", "\(files)/tls.key", "-h", "localhost",
        "-p", "\(site.home.settings.devicePort)", "-V", "5", "-i", id, "-t", "\(Topic.prefix)/site-a/trust",
        "--will-topic", Topic(Name("site-a")!, .presence(Name(will)!)).text, "--will-payload", "by a will",
        "--will-qos", "1",
      ], log: site.folder.file("sub.\(id).\(will)"))
  }

  @Test(.enabled(if: access("/usr/bin/mosquitto_sub", X_OK) == 0, "no mosquitto_sub"))
  func `a device speaks for nobody else by its will or its client id`() throws {
    let site = try LiveSite()
    _ = try site.device("edge-1")
    _ = try site.device("edge-2")
    let other = try Client("other", port: site.home.settings.devicePort, Self.tls(site, "edge-2"))
    let monitor = try Client(
      "monitor", port: site.home.settings.operatorPort, Identity.tls(.monitor, in: site.home))
    for (id, will) in [("edge-1", "edge-1"), ("edge-2", "edge-1"), ("edge-1", "edge-2")] {
      let client = try edge1(site, id: id, will: will)
      // The retained trust document shows that it is connected; with another's will it never is.
      let log = site.folder.file("sub.\(id).\(will)")
      for _ in 0..<(will == "edge-1" ? 1_000 : 50) where (try? AtomicFile.readAny(log).isEmpty) != false {
        usleep(10_000)
      }
      client.crash()
    }
    let topic = { (name: String) in Topic(Name("site-a")!, .presence(Name(name)!)).text }
    for _ in 0..<20 where !monitor.hasSeen(topic("edge-1"), "by a will") { monitor.drain() }
    #expect(monitor.hasSeen(topic("edge-1"), "by a will"))
    #expect(!monitor.hasSeen(topic("edge-2"), "by a will"))
    // Somebody had its client id for a moment: it may be on its way back.
    #expect(eventually { other.publish(topic("edge-2"), "still here") })
    // Whoever came in by that name showed its certificate, the other one however often it had to come again.
    let entries = site.brokerLog.split(separator: "\n").filter { $0.contains(" as edge-2 (") }
    #expect(!entries.isEmpty && entries.allSatisfy { $0.contains("u'edge-2'") }, "\(entries)")
  }

  @Test func `a client without a certificate of this site gets nowhere`() throws {
    let site = try LiveSite()
    let stranger = try LiveSite()
    let files = Identity.tls(.controller, in: stranger.home)
    let mixed = TLSFiles(
      authorities: .file(site.home.path("tls/ca.pem")), certificate: files.certificate, key: files.key)
    for port in [site.home.settings.devicePort, site.home.settings.operatorPort] {
      let inbox = try Inbox()
      let client = try PostureMQTT.Client(.init(.tls(host: "localhost", port: port, mixed)), inbox: inbox)
      let first = inbox.next(10_000)
      guard case .offline = first else {
        Issue.record("connected: \(String(describing: first))")
        continue
      }
      client.stop()
    }
  }

  /// The rules of a node of a cluster, read from its configuration: `access_publish` or `access_subscribe`.
  private func rules(_ name: String, _ text: String) throws -> [(topic: [Substring], who: String)] {
    let lines = text.split(separator: "\n")
    let start = try #require(lines.firstIndex { $0 == "    \(name):" })
    return lines[(start + 1)...].prefix { $0.hasPrefix("      \"") }.map { line in
      let parts = line.split(separator: "\"")
      return (parts[1].split(separator: "/"), String(parts[2]))
    }
  }

  /// What mod_mqtt does with them.
  private func allows(_ rules: [(topic: [Substring], who: String)], _ topic: String, _ role: String, _ name: String)
    -> Bool
  {
    let levels = topic.split(separator: "/")
    return rules.contains { rule in
      rule.who.contains("{allow: \(role)}") && rule.topic.count == levels.count
        && zip(rule.topic, levels).allSatisfy { $0 == "+" || $0 == $1 || ($0 == "%u" && $1 == name) }
    }
  }

  @Test func `a cluster has the same rules`() throws {
    let node = ClusterNode(
      site: Name("site-a")!, folder: "/x", deviceListener: .init(address: "0.0.0.0", port: 1),
      operatorListener: .init(address: "127.0.0.1", port: 2))
    let (publish, subscribe) = (
      try rules("access_publish", node.configuration), try rules("access_subscribe", node.configuration)
    )
    let written = Set(Self.rights.flatMap(\.write) + Self.of("other") + ["other.request"])
    for (role, write, read) in Self.rights where !role.contains(" ") {
      let name = role == "device" ? "edge-1" : role
      for (short, topic) in Self.topics {
        #expect(allows(publish, topic, role, name) == write.contains(short), "\(role) writes \(short)")
        // Of what nobody writes nothing is said.
        guard written.contains(short) else { continue }
        #expect(allows(subscribe, topic, role, name) == read.contains(short), "\(role) reads \(short)")
      }
    }
    // Nobody gets in by a password, and nobody's size depends on the fleet's.
    #expect(node.configuration.contains("auth_method: mnesia") && node.configuration.contains("tls_verify: true"))
    #expect(!node.configuration.contains("anonymous") && node.configuration.split(separator: "\n").count < 90)
  }

  @Test func `a node's files are written for an existing site, its keys for their owner alone`() throws {
    let site = try LiveSite()
    let folder = site.folder.file("node")
    #expect(try site.posturectl("broker", folder, "--folder", "/etc/posture", "--device-port", "18883").status == 0)
    for name in ["ejabberd.yml", "node.pem", "ca.pem", "mod_posture.erl"] {
      var status = stat()
      #expect(stat("\(folder)/\(name)", &status) == 0 && status.st_mode & 0o777 == 0o600, "\(name)")
    }
    let text = try Home.read(text: "\(folder)/ejabberd.yml")
    #expect(text.contains("certfiles: [\"/etc/posture/node.pem\"]") && text.contains("port: 18883"))
    #expect(text.contains("port: \(site.home.settings.operatorPort)"))
    let chain = try Home.read(text: "\(folder)/node.pem")
    #expect(chain.contains("BEGIN CERTIFICATE") && chain.contains("PRIVATE KEY"))
    #expect(try site.posturectl("broker", folder, "--folder", "relative").status == 64)
  }

  @Test func `the size of the access lists does not depend on devices or groups`() throws {
    let configuration = BrokerConfiguration(
      site: Name("site-a")!, folder: "/x", deviceListener: .init(address: "127.0.0.1", port: 1),
      operatorListener: .init(address: "127.0.0.1", port: 2))
    #expect(configuration.devices.split(separator: "\n").count < 30)
    #expect(configuration.operators.split(separator: "\n").count < 60)
  }
}
