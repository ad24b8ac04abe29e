/// The life of one client with its broker, as a pure machine: events and the time go in, actions come out.
///
/// It decides when to connect and in which version, what an answer means, how many messages are on the way, when a
/// silent broker is given up, and how long to wait. It does no I/O and reads no clock; times are milliseconds of a clock
/// that only grows.
public struct Session: Hashable, Sendable {
  enum State: Hashable, Sendable {
    case idle
    case waiting(until: Int64)
    case preparing
    case connecting(until: Int64)
    case subscribing(Connack, until: Int64)
    case online(since: Int64)
    case leaving(until: Int64)
    case ended
  }

  struct Flight: Hashable, Sendable {
    var ticket: Ticket
    /// nil while the library is writing it.
    var identifier: Int32?
    var until: Int64
  }

  private let settings: Settings
  private(set) var state = State.idle
  private(set) var flights: [Flight] = []
  private(set) var queue: [Queued] = []
  private var unanswered: [Int32: Subscription] = [:]
  private var unwritten = 0
  /// The row of the last publication that has one, and the last that is not to be gone on with.
  private var row: Int?
  private var brokenRow: Int?
  private var window = 1
  private var version = ProtocolVersion.v5
  private var failures = 0
  private var closedEarly = 0
  private var random: SplitMix

  struct Queued: Hashable, Sendable {
    var publication: Publication
    var ticket: Ticket
  }

  /// The ticket of the message that ``Event/stop(last:)`` brings; clients use others.
  static let lastTicket = Ticket.max

  public init(_ settings: Settings, seed: UInt64) {
    self.settings = settings
    random = SplitMix(seed: seed)
  }

  /// When ``Event/time`` is due at the latest; nil: only an event of the outside can move the machine.
  public var deadline: Int64? {
    let answers = flights.map(\.until).min()
    switch state {
    case .idle, .preparing, .ended: return nil
    case .waiting(let until), .connecting(let until), .subscribing(_, let until), .leaving(let until): return until
    case .online: return answers
    }
  }

  public var isOnline: Bool { if case .online = state { true } else { false } }
  public var hasEnded: Bool { state == .ended }

  /// There is a connection, or an attempt at one.
  var isAttached: Bool {
    switch state {
    case .connecting, .subscribing, .online, .leaving: true
    case .idle, .waiting, .preparing, .ended: false
    }
  }

  /// CONNACK has said yes.
  var isConnected: Bool {
    switch state {
    case .subscribing, .online, .leaving: true
    case .idle, .waiting, .preparing, .connecting, .ended: false
    }
  }

  public mutating func handle(_ event: Event, at now: Int64) -> [Action] {
    switch event {
    case .start: return state == .idle ? attempt(now) : []
    case .prepared: return state == .preparing ? connect(now) : []
    case .connack(let connack): return answered(connack, now)
    case .subscribing(let subscription, let identifier): return subscribing(subscription, identifier)
    case .suback(let identifier, let codes): return subscribed(identifier, codes, now)
    case .publish(let publication, let ticket): return publish(publication, ticket, now)
    case .sent(let ticket, let identifier): return sent(ticket, identifier)
    case .unsent(let ticket, let why): return unsent(ticket, why, now)
    case .puback(let identifier, let reason):
      return settle({ $0.identifier == identifier }, reason.isSuccess ? .taken : .refused(reason), now)
    case .lost(let loss): return lost(loss, now)
    case .slept: return giveUp(Loss(.slept), now)
    case .time: return time(now)
    case .stop(let last): return stop(last, now)
    }
  }

  // MARK: Connecting

  private mutating func attempt(_ now: Int64) -> [Action] {
    guard settings.preparesEachAttempt else { return connect(now) }
    state = .preparing
    return [.prepare]
  }

  private mutating func connect(_ now: Int64) -> [Action] {
    state = .connecting(until: now + settings.connectTimeout)
    return [.connect(version)]
  }

  private mutating func answered(_ connack: Connack, _ now: Int64) -> [Action] {
    guard case .connecting = state else { return [] }
    guard connack.reason.value == 0 else { return giveUp(Loss(.refused(connack.reason)), now) }
    closedEarly = 0
    window = max(1, min(connack.receiveMaximum ?? settings.window, settings.window))
    guard !settings.subscriptions.isEmpty else { return enter(connack, now) }
    state = .subscribing(connack, until: now + settings.answerTimeout)
    unwritten = settings.subscriptions.count
    return settings.subscriptions.map(Action.subscribe)
  }

  private mutating func subscribing(_ subscription: Subscription, _ identifier: Int32) -> [Action] {
    guard case .subscribing = state else { return [] }
    unwritten = max(0, unwritten - 1)
    unanswered[identifier] = subscription
    return []
  }

  private mutating func subscribed(_ identifier: Int32, _ codes: [UInt8], _ now: Int64) -> [Action] {
    guard case .subscribing(let connack, _) = state, let subscription = unanswered.removeValue(forKey: identifier)
    else { return [] }
    // One filter was asked for: fewer or more codes than one answer nothing.
    let code = codes.count == 1 ? ReasonCode(codes[0]) : nil
    let refusal: [Action] = code.map(\.isSuccess) == true ? [] : [.refused(subscription, code)]
    guard unwritten == 0, unanswered.isEmpty else { return refusal }
    return refusal + enter(connack, now)
  }

  private mutating func enter(_ connack: Connack, _ now: Int64) -> [Action] {
    state = .online(since: now)
    return [.online(connack)]
  }

  // MARK: Publishing

  private mutating func publish(_ publication: Publication, _ ticket: Ticket, _ now: Int64) -> [Action] {
    row = publication.row ?? row
    guard isOnline else { return refuse(publication, ticket, "not connected") }
    guard publication.row == nil || publication.row != brokenRow else {
      return refuse(publication, ticket, Self.oneBefore)
    }
    if flights.count < window { return [send(publication, ticket, now)] }
    guard queue.count < settings.queueCap else { return refuse(publication, ticket, "too many messages wait") }
    queue.append(Queued(publication: publication, ticket: ticket))
    return []
  }

  private mutating func refuse(_ publication: Publication, _ ticket: Ticket, _ why: String) -> [Action] {
    brokenRow = publication.row ?? brokenRow
    return [.complete(ticket, .unsent(why))]
  }

  private mutating func send(_ publication: Publication, _ ticket: Ticket, _ now: Int64) -> Action {
    flights.append(Flight(ticket: ticket, identifier: nil, until: now + settings.answerTimeout))
    return .send(publication, ticket)
  }

  private mutating func sent(_ ticket: Ticket, _ identifier: Int32) -> [Action] {
    if let at = flights.firstIndex(where: { $0.ticket == ticket }) { flights[at].identifier = identifier }
    return []
  }

  /// The library would not take it, nor what was to come after it.
  private mutating func unsent(_ ticket: Ticket, _ why: String, _ now: Int64) -> [Action] {
    brokenRow = row
    let after = queue.filter(isInRow)
    queue.removeAll(where: isInRow)
    return settle({ $0.ticket == ticket }, .unsent(why), now)
      + after.map { .complete($0.ticket, .unsent(Self.oneBefore)) }
  }

  private func isInRow(_ queued: Queued) -> Bool { row != nil && queued.publication.row == row }

  private static let oneBefore = "one before it was not sent"

  private mutating func settle(_ isIt: (Flight) -> Bool, _ outcome: Outcome, _ now: Int64) -> [Action] {
    guard let at = flights.firstIndex(where: isIt) else { return [] }
    let flight = flights.remove(at: at)
    if flight.ticket == Self.lastTicket { return [.leave] }
    var actions: [Action] = [.complete(flight.ticket, outcome)]
    if isOnline, !queue.isEmpty, flights.count < window {
      let next = queue.removeFirst()
      actions.append(send(next.publication, next.ticket, now))
    }
    return actions
  }

  /// Everything under way is settled; what was never written says so.
  private mutating func settleAll() -> [Action] {
    let lost = flights.filter { $0.ticket != Self.lastTicket }.map { Action.complete($0.ticket, .lost) }
    let unsent = queue.map { Action.complete($0.ticket, .unsent("connection lost")) }
    flights = []
    queue = []
    // Its publications may still be on their way from an owner who does not know yet.
    brokenRow = row
    unanswered = [:]
    unwritten = 0
    return lost + unsent
  }

  // MARK: Ending

  private mutating func lost(_ loss: Loss, _ now: Int64) -> [Action] {
    guard isAttached else { return [] }
    if case .leaving = state { return end() }
    return fall(loss, now)
  }

  /// Drops the connection from our side.
  private mutating func giveUp(_ loss: Loss, _ now: Int64) -> [Action] {
    guard isAttached else { return [] }
    if case .leaving = state { return [.close] + end() }
    return [.close] + fall(loss, now)
  }

  private mutating func fall(_ loss: Loss, _ now: Int64) -> [Action] {
    let settled = settleAll()
    let kind = judge(loss, now)
    let delay = settings.backoff.delay(kind, failures: failures, &random)
    failures += kind == .version ? 0 : 1
    state = .waiting(until: now + delay)
    return settled + [.offline(loss, retryIn: delay)]
  }

  /// The kind of the loss; takes note of what it says about the version and the count of failures.
  private mutating func judge(_ loss: Loss, _ now: Int64) -> ReasonCode.Kind {
    if case .online(let since) = state {
      if now - since >= settings.backoff.stable { failures = 0 }
      // The broker may have been replaced by one that speaks the newer version.
      version = .v5
    }
    switch loss.code {
    case .refused(let reason):
      let kind = reason.refusal(version)
      guard kind == .version else { return kind }
      let wasNew = version == .v5
      version = wasNew ? .v311 : .v5
      return wasNew ? .version : .later
    case .disconnected(let reason): return reason.disconnection
    case .closed:
      if case .connecting = state { closedBeforeAnswer() }
      return .soon
    case .slept:
      failures = 0
      return .soon
    case .transport, .silent, .nonsense: return .soon
    }
  }

  /// An old broker may close the connection instead of answering a CONNECT that it cannot read (MQTT 3.1.1, 3.1.2.2).
  private mutating func closedBeforeAnswer() {
    closedEarly += 1
    guard closedEarly >= 2 else { return }
    closedEarly = 0
    version = version == .v5 ? .v311 : .v5
  }

  private mutating func time(_ now: Int64) -> [Action] {
    guard let deadline, now >= deadline else { return [] }
    switch state {
    case .waiting: return attempt(now)
    case .connecting: return giveUp(Loss(.silent, "the handshake took too long"), now)
    case .subscribing: return giveUp(Loss(.silent, "a subscription was not answered"), now)
    case .online: return giveUp(Loss(.silent, "a message was not acknowledged"), now)
    case .leaving: return giveUp(Loss(.silent), now)
    case .idle, .preparing, .ended: return []
    }
  }

  private mutating func stop(_ last: Publication?, _ now: Int64) -> [Action] {
    switch state {
    case .online:
      state = .leaving(until: now + settings.leaveTimeout)
      let unsent = queue.map { Action.complete($0.ticket, .unsent("stopping")) }
      queue = []
      return unsent + [last.map { send($0, Self.lastTicket, now) } ?? .leave]
    case .connecting, .subscribing: return [.close] + end()
    case .idle, .waiting, .preparing: return end()
    case .leaving, .ended: return []
    }
  }

  private mutating func end() -> [Action] {
    let settled = settleAll()
    state = .ended
    return settled + [.ended]
  }
}
