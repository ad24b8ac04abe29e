import Posture
import PosturePlatform
import PostureTokens
import Synchronization

/// A share of the fleet with its thread and queue.
final class MonitorShard: Sendable {
  /// Messages that wait; beyond it the connection waits, and then the broker.
  private static let cap = 512

  /// A message whose topic has been read.
  struct Arrival {
    var topic: Topic
    var payload: [UInt8]
    var isRetained: Bool
  }

  private struct State {
    var fleet: Fleet
    var changed: Set<Name> = []
    /// Devices that the history was asked about, and those that are to be.
    var remembered: Set<Name> = []
    var unasked: Set<Name> = []
    /// Breaches that the history holds as open.
    var noted: [Name: [OpenBreach]] = [:]

    /// One of a kind is open, or none.
    mutating func note(_ kind: Breach, of device: Name, as breach: OpenBreach?) {
      let others = noted[device, default: []].filter { $0.breach != kind }
      let open = others + (breach.map { [$0] } ?? [])
      noted[device] = open.isEmpty ? nil : open
    }
  }

  private let state: Mutex<State>
  private let arrivals: WorkQueue<Arrival>
  private let ledger: HistoryLedger
  private let hub: EventHub

  init(
    _ fleet: Fleet, noted: [Name: [OpenBreach]], _ ledger: HistoryLedger, _ hub: EventHub
  ) throws(SystemError) {
    state = Mutex(State(fleet: fleet, noted: noted))
    arrivals = try WorkQueue(cap: Self.cap)
    self.ledger = ledger
    self.hub = hub
  }

  /// Waits while too many are there already.
  func put(_ message: Arrival) { arrivals.put(message) }

  /// Counts a message on a topic that is none of ours: no subscription asks for one.
  func refuse(_ topic: String) {
    state.withLock { _ = $0.fleet.receive([], on: topic, isRetained: false, at: Clock.wall) }
  }

  func stop() { arrivals.end() }

  /// Until ``stop()``, and until the queue is empty then.
  func run() {
    while let messages = arrivals.takeAll() { messages.forEach(take) }
  }

  private func take(_ message: Arrival) {
    let now = Clock.wall
    let outcomes = state.withLock { state -> [MonitorVerifier.Outcome] in
      if let device = message.topic.device {
        state.changed.insert(device)
        if !state.remembered.contains(device) { state.unasked.insert(device) }
      }
      return state.fleet.outcomes(of: message.payload, on: message.topic, isRetained: message.isRetained, at: now)
    }
    for outcome in outcomes {
      if case .message(let message) = outcome { tell(message) }
      if let record = HistoryRecord(outcome, received: now) { ledger.put(record) }
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

  /// Rows of the devices that were heard of since the last call, or of all. What the history has to learn of them is
  /// stored.
  func takeRows(all: Bool, at now: Int64) -> [DeviceRow] {
    let (rows, remarks) = state.withLock { state in
      let names = all ? Array(state.fleet.devices.keys) : Array(state.changed)
      state.changed = []
      var rows: [DeviceRow] = []
      var remarks: [HistoryRemark] = []
      rows.reserveCapacity(names.count)
      for name in names {
        guard let row = state.fleet.row(of: name, at: now) else { continue }
        rows.append(row)
        let open = state.fleet.breaches(of: name, row.conditions)
        remarks += Self.news(of: name, from: state.noted[name] ?? [], to: open, at: now)
      }
      return (rows, remarks)
    }
    remarks.forEach(store)
    return rows
  }

  /// What cannot be stored now is news the next time too.
  private func store(_ remark: HistoryRemark) {
    guard (try? ledger.add(remark)) != nil else { return }
    state.withLock { state in
      switch remark.kind {
      case .noticed(let breach): state.note(breach.breach, of: remark.device, as: breach)
      case .ended(let breach): state.note(breach, of: remark.device, as: nil)
      case .acknowledged, .unstored: break
      }
    }
  }

  private static func news(
    of name: Name, from old: [OpenBreach], to new: [OpenBreach], at now: Int64
  ) -> [HistoryRemark] {
    // Most devices, most of the time.
    if old.isEmpty && new.isEmpty { return [] }
    let begun = new.filter { breach in !old.contains { $0.breach == breach.breach && $0.chain == breach.chain } }
    let over = old.filter { breach in !new.contains { $0.breach == breach.breach } }
    let kinds = over.map { HistoryRemark.Kind.ended($0.breach) } + begun.map(HistoryRemark.Kind.noticed)
    return kinds.map { HistoryRemark(device: name, at: now, by: HistoryRemark.monitor, kind: $0) }
  }

  /// What the history knows of times before this start, of each device once it has reported.
  func remember(at now: Int64) {
    let reports = state.withLock { state in
      defer { state.unasked = [] }
      let reported = state.unasked.compactMap { name in state.fleet.devices[name]?.report.map { (name, $0) } }
      state.remembered.formUnion(reported.map(\.0))
      return reported
    }
    for (name, report) in reports {
      let since = try? ledger.since(report.verdict, of: name)
      let newest = try? ledger.newestReport(of: name, by: report.kid)
      state.withLock { state in
        if let since {
          state.fleet.remember(report.verdict, of: name, since: since.at, isSeen: since.isSeen, at: now)
        }
        if let newest { state.fleet.remember(report: newest, by: report.kid, of: name, at: now) }
        state.changed.insert(name)
      }
    }
  }

  func acknowledge(_ name: Name, at now: Int64) {
    state.withLock { state in
      state.fleet.acknowledge(name, at: now)
      state.noted[name] = nil
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
  /// What is kept: reports and events, and the credentials that they verify by.
  init?(_ outcome: MonitorVerifier.Outcome, received: Int64) {
    switch outcome {
    case .message(let message): self.init(message, received: received)
    case .credential(let credential, let token): self.init(credential, token, received: received)
    case .awaitingKey, .awaitingRoot, .trust, .revoked, .rejected: return nil
    }
  }

  private init?(_ credential: Credential, _ token: [UInt8], received: Int64) {
    guard let device = credential.grant.subject?.name else { return nil }
    // Of the whole token: nobody compares it with another one, and two of one second are two.
    let digest = SHA256.text(of: token)
    let issued = credential.claims.issuedAt
    self.init(
      device: device, kid: credential.kid, kind: .credential, chain: digest, seq: issued, digest: digest,
      issued: issued, received: received, verdict: nil, token: token)
  }

  private init?(_ message: MonitorVerifier.Message, received: Int64) {
    switch message.content {
    case .report(let claims):
      self.init(
        device: message.device, kid: message.kid, kind: .report, seq: claims.sequence, digest: message.digest,
        issued: claims.issuedAt, received: received, verdict: claims.verdict, token: message.token.bytes)
    case .event(let claims):
      var verdict: Verdict?
      var chain = claims.chain
      if case .change(let change) = claims.body { verdict = change.to }
      // A gap has the number of an event that may have been stored before it was lost.
      if case .gap = claims.body { chain += "#gap" }
      self.init(
        device: message.device, kid: message.kid, kind: .event, chain: chain, seq: claims.number,
        digest: message.digest, issued: claims.issuedAt, received: received, verdict: verdict,
        token: message.token.bytes)
    case .presence, .progress, .refusal: return nil
    }
  }
}
