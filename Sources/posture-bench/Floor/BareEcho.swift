import Posture
import PostureFleet
import PostureMQTT
import PosturePlatform
import PostureTokens
import Synchronization

/// The floor of a round trip: a command over a broker and an answer back by bare libmosquitto, with a signature and a
/// verification at either end.
final class BareEcho {
  private let isEnding: Flag
  private let requester: BareClient
  private let command: BareMessage
  private let controller: BareKey
  private let device: BareKey
  private let report: BareMessage
  private let topic: String
  private var answers = 0

  private final class Flag: Sendable {
    let value = Atomic<Bool>(false)
    let failure = Mutex<String?>(nil)
    let isReady = Atomic<Bool>(false)
  }

  init(_ kit: DeviceKit, at site: BenchSite) throws(BenchError) {
    let key: FileKey
    do {
      let identity = try Identity(.controller, in: site.home)
      let command = try RecheckCommand(.device(kit.party), from: identity, at: Clock.wall)
      (key, self.command, topic) = (
        identity.key, try BareMessage(command.token), command.claims.audience.recheckTopic.text
      )
    } catch { throw BenchError("\(error)") }
    controller = try BareKey(key)
    device = try BareKey(kit.key)
    report = try BareMessage(kit.report)
    isEnding = Flag()
    let (flag, command, topic, port) = (isEnding, command, topic, site.home.settings.devicePort)
    do throws(SystemError) {
      _ = try Thread.start("echo") {
        do throws(BenchError) { try Self.serve(kit, command, key, topic, port, flag) } catch {
          flag.failure.withLock { $0 = error.description }
        }
      }
    } catch { throw BenchError("\(error)") }
    requester = try BareClient(
      nil, Identity.tls(.controller, in: site.home), port: site.home.settings.operatorPort)
    try requester.subscribe([kit.topic(Topic.Place.reply)])
    requester.onMessage = { [unowned self] _ in
      device.verify(report)
      answers += 1
    }
    while !flag.isReady.load(ordering: .acquiring) {
      if let failure = flag.failure.withLock({ $0 }) { throw BenchError(failure) }
      Clock.sleep(milliseconds: 5)
    }
  }

  deinit { isEnding.value.store(true, ordering: .releasing) }

  /// Milliseconds.
  func roundTrip() throws(BenchError) -> Double {
    let start = Clock.monotonicNanoseconds
    let goal = answers + 1
    controller.sign(command.signed)
    try requester.publish(topic, command.token, retain: false)
    try requester.wait(10, "the echo") { [unowned self] _ in answers >= goal }
    return Double(Clock.monotonicNanoseconds - start) / 1e6
  }

  private static func serve(
    _ kit: DeviceKit, _ command: BareMessage, _ controller: FileKey, _ topic: String, _ port: UInt16, _ flag: Flag
  ) throws(BenchError) {
    let client = try BareClient(kit.party.name.description, kit.tls, port: port)
    try client.subscribe([topic])
    let (controller, own) = (try BareKey(controller), try BareKey(kit.key))
    let report = try BareMessage(kit.report)
    let reply = kit.topic(Topic.Place.reply)
    client.onMessage = { [unowned client] _ in
      controller.verify(command)
      own.sign(report.signed)
      try? client.publish(reply, report.token, retain: false)
    }
    flag.isReady.store(true, ordering: .releasing)
    try client.wait(3_600, "its end") { _ in flag.value.load(ordering: .acquiring) }
  }
}
