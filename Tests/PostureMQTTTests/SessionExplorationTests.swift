import TestKit
import Testing

@testable import PostureMQTT

/// The session with what its driver would know, so that only events that can happen are tried.
private struct World: Hashable {
  var session: Session
  var now: Int64 = 0
  var hasConnection = false
  /// Tickets that await their one completion.
  var open: Set<Session.Ticket> = []
  var nextTicket: Session.Ticket = 1
  var nextIdentifier: Int32 = 1
  var subscribed: [Int32] = []
  var onTheWay: [Int32] = []
  var online = false
  var ended = false
  var isStopped = false
}

private enum Move: Hashable {
  case start, prepared, time
  case connack(UInt8), suback(UInt8), garbledSuback, staleSuback
  case publish, puback(UInt8), stalePuback, unsent
  case lost(Loss.Code), slept, stop(Bool)
}

struct SessionExplorationTests {
  private static func settings(_ prepares: Bool) -> Session.Settings {
    var settings = Session.Settings()
    settings.subscriptions = [Subscription("a"), Subscription("b", wantsRetained: false)]
    settings.preparesEachAttempt = prepares
    settings.window = 2
    settings.queueCap = 1
    // Without chance and without growth there are fewer states that differ in nothing that matters.
    settings.backoff.soon = 0
    settings.backoff.soonCap = 0
    settings.backoff.later = 0
    settings.backoff.laterCap = 0
    return settings
  }

  private static func moves(_ world: World) -> [Move] {
    var moves: [Move] = [
      .start, .prepared, .time, .publish, .slept, .stop(true), .stop(false), .staleSuback, .stalePuback,
    ]
    if world.hasConnection {
      moves += [.connack(0), .connack(135), .connack(136), .connack(132)]
      moves += [.lost(.closed), .lost(.transport), .lost(.disconnected(.sessionTakenOver)), .lost(.silent)]
      if !world.subscribed.isEmpty { moves += [.suback(1), .suback(135), .garbledSuback] }
      if !world.onTheWay.isEmpty { moves += [.puback(0), .puback(16), .puback(151)] }
    }
    return moves
  }

  private static func event(_ move: Move, _ world: inout World) -> Session.Event {
    switch move {
    case .start: return .start
    case .prepared: return .prepared
    case .time:
      world.now = max(world.now, world.session.deadline ?? world.now)
      return .time
    case .connack(let code): return .connack(Session.Connack(ReasonCode(code), .v5, receiveMaximum: 2))
    case .suback(let code): return .suback(identifier: world.subscribed.removeFirst(), codes: [code])
    case .garbledSuback: return .suback(identifier: world.subscribed.removeFirst(), codes: [])
    case .staleSuback: return .suback(identifier: 9_999, codes: [0])
    case .publish:
      defer { world.nextTicket += 1 }
      world.open.insert(world.nextTicket)
      return .publish(Publication("t", []), world.nextTicket)
    case .puback(let code): return .puback(identifier: world.onTheWay.removeFirst(), ReasonCode(code))
    case .stalePuback: return .puback(identifier: 9_999, ReasonCode(0))
    case .unsent: return .unsent(1, "no")
    case .lost(let code):
      world.hasConnection = false
      return .lost(Loss(code))
    case .slept: return .slept
    case .stop(let withLast):
      world.isStopped = true
      return .stop(last: withLast ? Publication("last", []) : nil)
    }
  }

  /// Does what a driver does, and names what must not be.
  private static func step(_ world: inout World, _ move: Move) -> [String] {
    var broken: [String] = []
    var events = [event(move, &world)]
    while !events.isEmpty {
      for action in world.session.handle(events.removeFirst(), at: world.now) {
        broken += perform(action, &world, &events)
      }
    }
    if world.session.isOnline != (world.online && !world.isStopped) { broken.append("online is told") }
    if world.session.hasEnded != world.ended { broken.append("the end is told") }
    if world.ended, world.hasConnection { broken.append("nothing is connected after the end") }
    if world.ended, !world.open.isEmpty { broken.append("everything is settled at the end") }
    if !world.session.isAttached, !world.open.isEmpty { broken.append("everything is settled without a connection") }
    if world.session.isAttached != world.hasConnection { broken.append("the session knows whether it is connected") }
    if world.session.isAttached, world.session.deadline == nil, !world.session.isOnline {
      broken.append("nothing waits for ever")
    }
    if world.session.flights.count > (world.isStopped ? 3 : 2) { broken.append("the window holds") }
    if world.session.queue.count > 1 { broken.append("the queue is bounded") }
    if world.isStopped, world.session.deadline.map({ $0 > world.now + 60_000 }) == true {
      broken.append("a stopped session ends soon")
    }
    return broken
  }

  private static func perform(_ action: Session.Action, _ world: inout World, _ events: inout [Session.Event])
    -> [String]
  {
    switch action {
    case .prepare: return world.hasConnection ? ["no attempt while connected"] : []
    case .connect:
      defer { world.hasConnection = true }
      (world.subscribed, world.onTheWay) = ([], [])
      return world.hasConnection ? ["one connection at a time"] : []
    case .subscribe(let subscription):
      events.append(.subscribing(subscription, identifier: world.nextIdentifier))
      world.subscribed.append(world.nextIdentifier)
      world.nextIdentifier += 1
      return world.hasConnection ? [] : ["subscribe only when connected"]
    case .send(_, let ticket):
      events.append(.sent(ticket, identifier: world.nextIdentifier))
      world.onTheWay.append(world.nextIdentifier)
      world.nextIdentifier += 1
      return world.online || world.isStopped ? [] : ["publish only when online"]
    case .complete(let ticket, _): return world.open.remove(ticket) == nil ? ["one outcome for each message"] : []
    case .online:
      defer { world.online = true }
      return world.online ? ["online once"] : []
    case .refused: return []
    case .offline:
      defer { world.online = false }
      return world.isStopped ? ["no new attempt after stop"] : []
    case .leave:
      world.hasConnection = false
      events.append(.lost(Loss(.closed)))
      return []
    case .close:
      defer { world.hasConnection = false }
      return world.hasConnection ? [] : ["close only what is there"]
    case .ended:
      world.online = false
      world.ended = true
      return []
    }
  }

  @Test(arguments: [false, true])
  func `every order of events keeps the session's promises`(_ prepares: Bool) {
    var start = World(session: Session(Self.settings(prepares), seed: 1))
    _ = Self.step(&start, .start)
    let depth = Long.isWanted ? 12 : 9
    let result = Exploration.run(from: start, depth: depth, events: Self.moves, step: Self.step)
    #expect(result.failures.isEmpty, "\(result.failures.first ?? "")")
    print("session: depth \(depth), \(result.states) states, \(result.steps) steps")
    #expect(result.states > 500)
  }
}
