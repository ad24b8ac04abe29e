import Posture
import TestKit
import Testing

@testable import PostureCourier

struct PlannerTests {
  private static let settings = Planner.Settings(period: 3_600_000, phase: 600_000)

  private static func order(_ number: Int, start: Int64 = 0, latest: Int64 = 60_000) -> Gate.Order {
    Gate.Order(command: "jti-\(number)", controller: "k", nonce: "nonce-\(number)", start: start, latest: latest)
  }

  private func asks(_ actions: [Planner.Action]) -> [([String], ReportCause)] {
    actions.compactMap { if case .ask(let nonces, let cause) = $0 { (nonces, cause) } else { nil } }
  }

  @Test func `the start is reported at once, then each period at this device's place in it`() {
    var planner = Planner(Self.settings)
    #expect(asks(planner.handle(.want(.start), at: 0, wall: 0)).map(\.1) == [.start])
    _ = planner.handle(.finished(true), at: 100, wall: 0)
    #expect(planner.deadline == 600_000)
    #expect(asks(planner.handle(.time, at: 600_000, wall: 600)).map(\.1) == [.schedule])
    _ = planner.handle(.finished(true), at: 600_100, wall: 600)
    #expect(planner.scheduledAt == 4_200_000)
  }

  @Test func `changes are waited out, but not for ever`() {
    var planner = Planner(Self.settings)
    var asked: Int64?
    for now in stride(from: Int64(0), to: 3_000, by: 50) {
      let actions = planner.handle(.want(.change), at: now, wall: 0)
      if !asks(actions).isEmpty, asked == nil { asked = now }
    }
    #expect(asked.map { $0 <= 1_000 } == true)
    var quiet = Planner(Self.settings)
    _ = quiet.handle(.want(.change), at: 0, wall: 0)
    #expect(quiet.deadline == 200)
    #expect(asks(quiet.handle(.time, at: 200, wall: 0)).map(\.1) == [.change])
  }

  @Test func `a file that changes all the time does not keep the device busy`() {
    var planner = Planner(Self.settings)
    var runs = 0
    for now in stride(from: Int64(0), to: 600_000, by: 500) {
      runs += asks(planner.handle(.want(.change), at: now, wall: now / 1_000)).count
      if planner.running != nil { _ = planner.handle(.finished(true), at: now, wall: now / 1_000) }
      runs += asks(planner.handle(.time, at: now + 250, wall: now / 1_000)).count
      if planner.running != nil { _ = planner.handle(.finished(true), at: now + 250, wall: now / 1_000) }
    }
    #expect((20...30).contains(runs), "\(runs) runs in ten minutes")
  }

  @Test func `changes that rode along with commands do not hold up the next one`() {
    var planner = Planner(Self.settings)
    for number in 0..<50 {
      let now = Int64(number) * 1_000
      _ = planner.handle(.want(.change), at: now, wall: 0)
      _ = planner.handle(.order(Self.order(number, start: now, latest: now + 60_000)), at: now, wall: 0)
      _ = planner.handle(.finished(true), at: now + 100, wall: 0)
    }
    _ = planner.handle(.want(.change), at: 50_000, wall: 0)
    #expect(planner.deadline.map { $0 <= 80_000 } == true, "\(planner.deadline ?? -1)")
  }

  @Test func `askers that come while a run goes on share the next`() {
    var planner = Planner(Self.settings)
    #expect(asks(planner.handle(.order(Self.order(1)), at: 0, wall: 0)).map(\.0) == [["nonce-1"]])
    for number in 2...5 { #expect(asks(planner.handle(.order(Self.order(number)), at: 1, wall: 0)).isEmpty) }
    #expect(planner.load.waiting == 4)
    let next = asks(planner.handle(.finished(true), at: 2, wall: 0))
    #expect(next.map(\.0) == [["nonce-2", "nonce-3", "nonce-4", "nonce-5"]])
  }

  @Test func `an order for later does not hold up one for now`() {
    var planner = Planner(Self.settings)
    #expect(asks(planner.handle(.order(Self.order(1, start: 50_000)), at: 0, wall: 0)).isEmpty)
    #expect(asks(planner.handle(.order(Self.order(2)), at: 10, wall: 0)).map(\.0) == [["nonce-1", "nonce-2"]])
  }

  @Test func `a run that fails is made again with what was asked, unless nobody waits any more`() {
    var planner = Planner(Self.settings)
    _ = planner.handle(.order(Self.order(1, latest: 10_000)), at: 0, wall: 0)
    _ = planner.handle(.finished(false), at: 100, wall: 0)
    #expect(planner.deadline == 1_100)
    #expect(asks(planner.handle(.time, at: 1_100, wall: 0)).map(\.0) == [["nonce-1"]])
    _ = planner.handle(.finished(false), at: 9_000, wall: 0)
    let actions = planner.handle(.time, at: 11_000, wall: 0)
    #expect(actions == [.abandoned(Self.order(1, latest: 10_000))])
  }

  @Test func `a report is never asked to answer more than it can`() {
    var planner = Planner(Self.settings)
    _ = planner.handle(.order(Self.order(0)), at: 0, wall: 0)
    for number in 1...Gate.nonceCap { _ = planner.handle(.order(Self.order(number)), at: 1, wall: 0) }
    var sizes = asks(planner.handle(.finished(false), at: 2, wall: 0)).map(\.0.count)
    sizes += asks(planner.handle(.time, at: 2_000, wall: 0)).map(\.0.count)
    sizes += asks(planner.handle(.finished(true), at: 2_001, wall: 0)).map(\.0.count)
    #expect(sizes == [Gate.nonceCap, 1])
  }

  private struct World: Hashable {
    var planner: Planner
    var now: Int64 = 0
    var open: Set<String> = []
    var number = 1
    var isRunning = false
  }

  private enum Move: Hashable {
    case change, start, policy, order(Int64), finished(Bool), deadline, wait
  }

  @Test func `every order of events keeps the planner's promises`() {
    let depth = Long.isWanted ? 8 : 6
    let result = Exploration.run(
      from: World(planner: Planner(Self.settings)), depth: depth,
      events: { world in
        [.change, .start, .policy, .order(0), .order(5_000), .deadline, .wait]
          + (world.isRunning ? [.finished(true), .finished(false)] : [])
      }, step: Self.step)
    #expect(result.failures.isEmpty, "\(result.failures.first ?? "")")
    print("planner: depth \(depth), \(result.states) states, \(result.steps) steps")
  }

  private static func step(_ world: inout World, _ move: Move) -> [String] {
    var event = Planner.Event.time
    switch move {
    case .change: event = .want(.change)
    case .start: event = .want(.start)
    case .policy: event = .want(.policy)
    case .order(let delay):
      event = .order(order(world.number, start: world.now + delay, latest: world.now + delay + 3_000))
      world.open.insert("jti-\(world.number)")
      world.number += 1
    case .finished(let isGood):
      event = .finished(isGood)
      world.isRunning = false
      if isGood { for order in world.planner.running?.orders ?? [] { world.open.remove(order.command) } }
    case .deadline: world.now = max(world.now, world.planner.deadline ?? world.now)
    case .wait: world.now += 700
    }
    return check(world.planner.handle(event, at: world.now, wall: world.now / 1_000), &world)
  }

  private static func check(_ actions: [Planner.Action], _ world: inout World) -> [String] {
    var broken: [String] = []
    for action in actions {
      switch action {
      case .ask(let nonces, _):
        if world.isRunning { broken.append("one run at a time") }
        world.isRunning = true
        if nonces.count > Gate.nonceCap { broken.append("a report takes no more nonces") }
      case .abandoned(let order):
        if world.open.remove(order.command) == nil { broken.append("abandoned once") }
      case .began(let order): if !world.open.contains(order.command) { broken.append("only what was asked begins") }
      }
    }
    let held = Set(((world.planner.running?.orders ?? []) + (world.planner.waiting?.orders ?? [])).map(\.command))
    if held != world.open { broken.append("no order is lost") }
    if world.planner.scheduledAt == nil { broken.append("there is always a next time") }
    if !world.isRunning, world.planner.waiting != nil, world.planner.deadline == nil {
      broken.append("what waits is due")
    }
    return broken
  }
}
