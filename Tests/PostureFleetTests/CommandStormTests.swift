import Glibc
import Posture
import PostureMQTT
import PosturePlatform
import PostureTokens
import Synchronization
import TestKit
import Testing

@testable import PostureFleet

private let publisher = "/usr/bin/mosquitto_pub"

/// Many commands at a real agent.
@Suite(
  .serialized,
  .enabled(if: Broker.isInstalled && access(publisher, X_OK) == 0, "needs mosquitto and its clients"))
struct CommandStormTests {
  /// A process of its own that sends lines as the controller.
  private func send(_ lines: [String], _ site: LiveSite, to agent: RealAgent) throws {
    let files = "\(site.home.folder)/controller"
    var command = Command(
      publisher,
      [
        "--cafile", site.home.path("tls/ca.pem"), "--cert", "\(files)/tls.pem", "--key", "\(files)/tls.key", "-h",
        "localhost", "-p", "\(site.home.settings.operatorPort)", "-V", "5", "-q", "1", "-t",
        Topic(site.home.site, .recheckDevice(agent.name)).text, "-l",
      ])
    command.input = lines.flatMap { Array("\($0)\n".utf8) }
    command.timeout = 300_000
    let output = try command.run()
    guard output.status == 0 else {
      throw RealAgent.Failure(description: String(decoding: output.err, as: UTF8.self))
    }
  }

  private func command(_ site: LiveSite, _ agent: RealAgent, challenge: String? = nil) throws -> RecheckCommand {
    var options = RecheckCommand.Options()
    options.life = 300
    options.challenge = challenge
    return try RecheckCommand(
      .device(Party(site.home.site, agent.name)), from: Identity(.controller, in: site.home), at: Clock.wall, options)
  }

  /// What comes on the device's reply topic.
  private final class Replies {
    private let link: OperatorLink
    private(set) var claims: [JSON] = []

    init(_ site: LiveSite, _ agent: RealAgent) throws {
      link = try OperatorLink(
        site.home, as: .monitor, subscribe: [Topic(site.home.site, .reply(agent.name)).text])
      try link.waitOnline()
    }

    /// Takes what comes until `isEnough`, or the time is over.
    func take(_ milliseconds: Int64, until isEnough: ([JSON]) -> Bool = { _ in false }) {
      let end = Clock.monotonicMilliseconds + milliseconds
      while !isEnough(claims), Clock.monotonicMilliseconds < end {
        guard case .message(let message) = link.next(200), let text = message.text else { continue }
        if let read = try? RealAgent.claims(of: text) { claims.append(read) }
      }
    }

    var nonces: [String] { claims.flatMap { $0["eat_nonce"]?.strings ?? $0["eat_nonce"]?.string.map { [$0] } ?? [] } }
  }

  private func started(_ site: LiveSite) throws -> RealAgent {
    let agent = try RealAgent(site, "edge-1")
    try agent.start()
    // Beside all the other tests a start takes its time.
    #expect(eventually(60_000) { agent.counter("reports") > 0 }, "\(agent.log)")
    return agent
  }

  @Test(.timeLimit(.minutes(3))) func `fifty rechecks at once from two processes are all answered`() throws {
    let site = try LiveSite()
    let agent = try started(site)
    let replies = try Replies(site, agent)
    let commands = try (0..<50).map { _ in try command(site, agent) }
    let failures = Mutex(0)
    let (heldSite, heldAgent) = (Held(site), Held(agent))
    let halves = [commands.prefix(25), commands.suffix(25)].map { $0.map(\.token) }
    let senders = try Thread.start("senders") {
      try? Together.run(2) { half in
        do { try send(halves[half], heldSite.value, to: heldAgent.value) } catch { failures.withLock { $0 += 1 } }
      }
    }
    let wanted = Set(commands.map(\.claims.nonce))
    replies.take(60_000) { _ in wanted.isSubset(of: replies.nonces) }
    senders.join()
    #expect(failures.withLock { $0 } == 0)
    #expect(wanted.subtracting(replies.nonces).isEmpty, "\(agent.log)")
    #expect(replies.claims.allSatisfy { $0["code"] == nil }, "none is refused")
  }

  /// The test waits for the threads that use it.
  private struct Held<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  @Test(.timeLimit(.minutes(10))) func `one command again and again is answered once, and writes nothing`() throws {
    let site = try LiveSite()
    let agent = try started(site)
    let replies = try Replies(site, agent)
    let command = try command(site, agent)
    try send([command.token], site, to: agent)
    replies.take(20_000) { _ in replies.nonces.contains(command.claims.nonce) }
    replies.take(1_500)
    let count = Long.isWanted ? 100_000 : 1_000
    let memory = agent.folder.file("state/courier/commands.json")
    let (written, remembered) = (agent.status?["journal"]?["writes"], try identity(memory))
    for _ in 0..<(count / 1_000) { try send(Array(repeating: command.token, count: 1_000), site, to: agent) }
    #expect(eventually(300_000) { agent.counter("replayed") >= Int64(count) }, "\(agent.counter("replayed"))")
    replies.take(1_000)
    #expect(agent.counter("replayed") == Int64(count))
    #expect(agent.counter("obeyed") == 1)
    #expect(replies.nonces == [command.claims.nonce])
    #expect(agent.status?["journal"]?["writes"] == written)
    #expect(try identity(memory) == remembered)
    print("replayed: \(count) times, answered once")
  }

  private func identity(_ path: String) throws -> [Int] {
    var status = stat()
    try #require(stat(path, &status) == 0)
    return [Int(status.st_ino), Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec)]
  }
}
