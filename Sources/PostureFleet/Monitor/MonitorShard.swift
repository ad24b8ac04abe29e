import Posture
import PosturePlatform
import PostureMQTT
import PostureTokens
import Synchronization

/// A share of the fleet with its thread and queue.
final class MonitorShard: Sendable {
  /// Messages that wait; beyond it the connection waits, and then the broker.
  private static let cap = 4_096

  private struct Queue {
    var messages: [Message] = []
    var isEnded = false
  }

  private struct State {
    var fleet: Fleet
    var changed: Set<Name> = []
  }

  private let state: Mutex<State>
  private let queue = Mutex(Queue())
  private let work: Waker
  private let room: Waker
  private let ledger: HistoryLedger
  private let hub: EventHub

  init(_ fleet: Fleet, _ ledger: HistoryLedger, _ hub: EventHub) throws(SystemError) {
    state = Mutex(State(fleet: fleet))
    work = try Waker()
    room = try Waker()
    self.ledger = ledger
    self.hub = hub
  }

  func put(_ message: Message) {
    while true {
      let isFull = queue.withLock { queue in
        if queue.messages.count < Self.cap || queue.isEnded {
          queue.messages.append(message)
          return false
        }
        return true
      }
      guard isFull else { break }
      _ = room.wait(100)
      room.clear()
    }
    work.wake()
  }

  func stop() {
    queue.withLock { $0.isEnded = true }
    work.wake()
  }

  /// Until ``stop()``, and until the queue is empty then.
  func run() {
    while true {
      _ = work.wait(nil)
      work.clear()
      let (messages, isEnded) = queue.withLock { queue in
        defer { queue.messages = [] }
        return (queue.messages, queue.isEnded)
      }
      room.wake()
      messages.forEach(take)
      if isEnded { return }
    }
  }

  private func take(_ message: Message) {
    let now = Clock.wall
    let verified = state.withLock { state -> [MonitorVerifier.Message] in
      if let device = Topic(message.topic)?.device { state.changed.insert(device) }
      return state.fleet.receive(message.payload, on: message.topic, isRetained: message.retained, at: now)
    }
    for message in verified {
      tell(message)
      if let record = HistoryRecord(message, received: now) { ledger.put(record) }
    }
  }

  /// What a device says about a command is shown as it comes.
  private func tell(_ message: MonitorVerifier.Message) {
    let said: String
    switch message.content {
    case .progress(let claims): said = claims.state.rawValue
    case .refusal(let claims): said = "refused: \(claims.code.rawValue)"
    case .report(let claims) where claims.cause == .recheck: said = "answered: \(claims.verdict.rawValue)"
    default: return
    }
    guard hub.count > 0 else { return }
    hub.send(
      "reply",
      JSON.object([
        JSON.Member("device", .string(message.device.description)), JSON.Member("said", .string(said)),
      ]).text)
  }

  func read<Result>(_ body: (Fleet) -> Result) -> Result { state.withLock { body($0.fleet) } }

  /// Rows of the devices that were heard of since the last call, or of all.
  func takeRows(all: Bool, at now: Int64) -> [DeviceRow] {
    state.withLock { state in
      defer { state.changed = [] }
      if all { return state.fleet.rows(at: now) }
      return state.changed.compactMap { state.fleet.row(of: $0, at: now) }
    }
  }

  /// What the history knows of times before this start.
  func remember(at now: Int64) {
    let verdicts = state.withLock { $0.fleet.devices.compactMapValues { $0.report?.verdict } }
    for (name, verdict) in verdicts {
      guard let since = try? ledger.since(verdict, of: name) else { continue }
      state.withLock { state in
        state.fleet.remember(verdict, of: name, since: since, at: now)
        state.changed.insert(name)
      }
    }
  }

  func acknowledge(_ name: Name, at now: Int64) {
    state.withLock { state in
      state.fleet.acknowledge(name, at: now)
      state.changed.insert(name)
    }
  }

  func contradict(_ record: HistoryRecord) {
    state.withLock { state in
      state.fleet.contradict(record.device, kid: record.kid, at: record.received)
      state.changed.insert(record.device)
    }
  }

  func expect(_ nonce: String) {
    state.withLock { state in
      // A few hundred rechecks at once; what is older has been answered or never will be.
      if state.fleet.nonces.count >= 1_024 { state.fleet.nonces = [] }
      state.fleet.nonces.insert(nonce)
    }
  }
}

extension HistoryRecord {
  /// What is kept of a verified message: reports and events.
  init?(_ message: MonitorVerifier.Message, received: Int64) {
    switch message.content {
    case .report(let claims):
      self.init(
        device: message.device, kid: message.kid, kind: .report, seq: claims.sequence, digest: message.token.digest,
        issued: claims.issuedAt, received: received, verdict: claims.verdict, token: message.token.text)
    case .event(let claims):
      var verdict: Verdict?
      var chain = claims.chain
      if case .change(let change) = claims.body { verdict = change.to }
      // A gap has the number of an event that may have been stored before it was lost.
      if case .gap = claims.body { chain += "#gap" }
      self.init(
        device: message.device, kid: message.kid, kind: .event, chain: chain, seq: claims.number,
        digest: message.token.digest, issued: claims.issuedAt, received: received, verdict: verdict,
        token: message.token.text)
    case .presence, .progress, .refusal: return nil
    }
  }
}
