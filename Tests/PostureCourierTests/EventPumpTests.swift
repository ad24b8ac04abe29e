import Posture
import PostureMQTT
import TestKit
import Testing

@testable import PostureCourier

struct EventPumpTests {
  /// The pump between a journal and a broker that may do anything.
  private struct World: Hashable {
    var pump = EventPump()
    var now: Int64 = 0
    var isOnline = false
    /// The journal: numbers that are not acknowledged yet.
    var journal: [Int64] = [1, 2, 3]
    var nextNumber: Int64 = 4
    var pulling = false
    var acknowledging: Int64?
    var onTheWay: [Int64] = []
    /// What the broker has taken.
    var taken: Set<Int64> = []
  }

  private enum Move: Hashable {
    case online, offline, newEvent, pulled, pullFailed, outcome(Int, Session.Outcome), acknowledged(Bool), time
  }

  private static func moves(_ world: World) -> [Move] {
    var moves: [Move] = [.newEvent, .time]
    moves.append(world.isOnline ? .offline : .online)
    if world.pulling { moves += [.pulled, .pullFailed] }
    if world.acknowledging != nil { moves += [.acknowledged(true), .acknowledged(false)] }
    for index in world.onTheWay.indices.prefix(2) {
      moves += [.outcome(index, .taken), .outcome(index, .lost), .outcome(index, .refused(.notAuthorized))]
    }
    return moves
  }

  private static func step(_ world: inout World, _ move: Move) -> [String] {
    guard let event = event(move, &world) else { return [] }
    let broken = check(world.pump.handle(event, at: world.now), &world)
    let waits = world.pulling || world.acknowledging != nil || !world.onTheWay.isEmpty
    if world.isOnline, !waits, world.pump.deadline == nil, !world.journal.isEmpty {
      return broken + ["events are not left lying"]
    }
    return broken
  }

  private static func event(_ move: Move, _ world: inout World) -> EventPump.Event? {
    switch move {
    case .online:
      world.isOnline = true
      return .online
    case .offline:
      world.isOnline = false
      // The client settles what was on the way; the pump has heard of it or not.
      world.onTheWay = []
      return .offline
    case .newEvent:
      guard world.nextNumber < 6 else { return nil }
      world.journal.append(world.nextNumber)
      world.nextNumber += 1
      return .poke
    case .pulled:
      world.pulling = false
      return .pulled(chain: "chain", world.journal.prefix(2).map { .init(eseq: $0, token: "t\($0)") })
    case .pullFailed:
      world.pulling = false
      return .pullFailed
    case .outcome(let index, let outcome):
      let number = world.onTheWay.remove(at: index)
      if outcome == .taken { world.taken.insert(number) }
      return .published(eseq: number, outcome)
    case .acknowledged(let isGood):
      if isGood, let number = world.acknowledging { world.journal.removeAll { $0 <= number } }
      world.acknowledging = nil
      return .acknowledged(isGood)
    case .time:
      world.now = max(world.now, world.pump.deadline ?? world.now)
      return .time
    }
  }

  private static func check(_ actions: [EventPump.Action], _ world: inout World) -> [String] {
    var broken: [String] = []
    for action in actions {
      switch action {
      case .pull:
        if !world.isOnline { broken.append("pull only for a broker") }
        world.pulling = true
      case .publish(let event):
        if !world.isOnline { broken.append("publish only when online") }
        if let last = world.onTheWay.last, last >= event.eseq { broken.append("in order") }
        world.onTheWay.append(event.eseq)
      case .acknowledge(_, let number):
        if let missing = world.journal.first(where: { $0 <= number && !world.taken.contains($0) }) {
          broken.append("\(missing) is acknowledged and was not taken")
        }
        world.acknowledging = number
      case .refused: break
      }
    }
    return broken
  }

  @Test func `every order of answers keeps the pump's promises`() {
    let depth = Long.isWanted ? 12 : 9
    let result = Exploration.run(from: World(), depth: depth, events: Self.moves, step: Self.step)
    #expect(result.failures.isEmpty, "\(result.failures.first ?? "")")
    print("pump: depth \(depth), \(result.states) states, \(result.steps) steps")
    #expect(result.states > 500)
  }

  @Test func `a broker that refuses is asked again later and later`() {
    var pump = EventPump()
    var now: Int64 = 0
    var actions = pump.handle(.online, at: now)
    var waits: [Int64] = []
    for _ in 0..<10 {
      #expect(actions == [.pull(after: 0, limit: EventPump.batch)])
      _ = pump.handle(.pulled(chain: "c", [.init(eseq: 1, token: "t")]), at: now)
      _ = pump.handle(.published(eseq: 1, .refused(.notAuthorized)), at: now)
      waits.append((pump.deadline ?? now) - now)
      now = pump.deadline ?? now
      actions = pump.handle(.time, at: now)
    }
    #expect(waits.prefix(3) == [2_000, 4_000, 8_000])
    #expect(waits.last == EventPump.retryCap)
  }
}
