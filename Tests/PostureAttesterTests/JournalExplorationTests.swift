import TestKit
import Testing

@testable import PostureAttester

/// The ledger in memory, what of it is on the disk, and what the world has seen.
private struct World: Hashable {
  var ledger: Ledger
  var opening: Journal.Opening
  /// On the disk now, and before the last write.
  var rows: [String: String] = [:]
  var before: [String: String] = [:]
  var marks: Marks? = .fresh
  /// The marks are of the same moment as the rows, so that one of the two may be lost.
  var isEven = true
  var wasSetAside = false
  var chains = 1
  /// The highest number given, by key; and of connections.
  var sequences: [String: Int64] = [:]
  var connection: Int64 = 0
  /// Digests of the events that somebody has been given, by chain and number.
  var seen: [String: [Int64: String]] = [:]
  /// Highest number acknowledged, by chain.
  var acknowledgedIn: [String: Int64] = [:]
  var acknowledged: Int64 { acknowledgedIn[ledger.chain.id] ?? 0 }

  static func new() -> World {
    let remains = Remains(rows: [:], marks: .fresh, wasSetAside: false)
    let (ledger, opening) = remains.ledger(kid: "one", chain: "chain-1", now: 1_000)
    return World(ledger: ledger, opening: opening)
  }
}

private enum Move: Hashable, CaseIterable {
  /// An event, of one of two contents; one that the disk does not take.
  case event, otherEvent, lostEvent
  /// The courier asks for events, and acknowledges the oldest or all it was given.
  case pull, acknowledge, acknowledgeAll
  case number, connection
  /// kill -9; between the journal and the marks; together with a loss.
  case crash, crashBetween, loseJournal, loseEnd, loseMarks, loseBoth, changeKey
}

struct JournalExplorationTests {
  private static let bounds = EventChain.Bounds(events: 3, bytes: 1 << 20, age: 1_000)

  // MARK: What the attester does

  private static func commit(_ world: inout World, _ next: Ledger, reaches: Bool = true, marks: Bool = true) {
    guard reaches else { return }
    var rows = next.rows
    // Sequences of other keys stay (Journal.write).
    for (key, value) in world.rows where key.hasPrefix("seq/") && rows[key] == nil { rows[key] = value }
    world.before = world.rows
    world.rows = rows
    world.ledger = next
    guard marks else {
      world.isEven = false
      return
    }
    world.marks = next.marks(otherSequences: Remains(rows: rows, marks: world.marks, wasSetAside: false).sequences)
    world.isEven = true
  }

  /// As Attester.beginChain does it, before every other write.
  private static func begin(_ world: inout World) {
    guard world.ledger.chain.number == 0, case .anew = world.opening else { return }
    var next = world.ledger
    next.chain.append(digest: "\(next.chain.id)/1 start", token: "t", made: 0)
    commit(&world, next)
  }

  /// As Attester.record does it.
  private static func append(_ world: inout World, _ content: String, reaches: Bool = true, marks: Bool = true) {
    begin(&world)
    var next = world.ledger
    let number = next.chain.number + 1
    next.chain.append(digest: "\(next.chain.id)/\(number) \(content)", token: "t", made: 0)
    let surplus = next.chain.surplus(bounds, hours: 0)
    if surplus > 0 { next.chain.fold(surplus, token: "gap") }
    commit(&world, next, reaches: reaches, marks: marks)
  }

  private static func restart(_ world: inout World, rows: [String: String]?, marks: Marks?, kid: String? = nil) {
    let remains = Remains(rows: rows, marks: marks, wasSetAside: world.wasSetAside)
    if remains.isDamaged { world.wasSetAside = true }
    world.rows = remains.rows
    world.before = remains.rows
    world.marks = marks
    let old = world.ledger.chain.id
    (world.ledger, world.opening) = remains.ledger(
      kid: kid ?? world.ledger.kid, chain: "chain-\(world.chains + 1)", now: 1_000_000 + Int64(world.chains))
    if world.ledger.chain.id != old { world.chains += 1 }
  }

  /// Until the next write each of the two knows something that the other does not.
  private static func lose(_ world: inout World, rows: [String: String]?, marks: Marks?) {
    restart(&world, rows: rows, marks: marks)
    world.isEven = false
  }

  // MARK: What happens

  private static func moves(_ world: World) -> [Move] {
    Move.allCases.filter { move in
      switch move {
      case .acknowledge, .acknowledgeAll: !(world.seen[world.ledger.chain.id] ?? [:]).isEmpty
      // One of the two may be lost where the other is of the same moment.
      case .loseJournal, .loseEnd, .loseMarks: world.isEven && world.marks != nil
      case .loseBoth: world.chains < 4
      default: true
      }
    }
  }

  private static func step(_ world: inout World, _ move: Move) -> [String] {
    var broken: [String] = []
    let old = world.ledger
    switch move {
    case .event: append(&world, "a")
    case .otherEvent: append(&world, "b")
    case .lostEvent: append(&world, "c", reaches: false)
    case .pull: broken += pull(&world)
    case .acknowledge: acknowledge(&world, world.ledger.chain.waiting.first?.number ?? 0)
    case .acknowledgeAll: acknowledge(&world, world.ledger.chain.waiting.last?.number ?? 0)
    case .number: broken += takeNumber(&world)
    case .connection: broken += takeConnection(&world)
    case .crash: restart(&world, rows: world.rows, marks: world.marks)
    case .crashBetween:
      append(&world, "d", marks: false)
      restart(&world, rows: world.rows, marks: world.marks)
    case .loseJournal: lose(&world, rows: nil, marks: world.marks)
    case .loseEnd: lose(&world, rows: world.before, marks: world.marks)
    case .loseMarks: lose(&world, rows: world.rows, marks: nil)
    case .loseBoth: lose(&world, rows: [:], marks: nil)
    case .changeKey:
      restart(&world, rows: world.rows, marks: world.marks, kid: world.ledger.kid == "one" ? "two" : "one")
    }
    return broken + invariants(world, old, move)
  }

  private static func pull(_ world: inout World) -> [String] {
    var broken: [String] = []
    let id = world.ledger.chain.id
    for link in world.ledger.chain.waiting {
      let known = world.seen[id]?[link.number]
      if known ?? link.digest != link.digest { broken.append("one number, one event") }
      world.seen[id, default: [:]][link.number] = link.digest
    }
    return broken
  }

  private static func acknowledge(_ world: inout World, _ number: Int64) {
    guard world.seen[world.ledger.chain.id]?[number] != nil else { return }
    var next = world.ledger
    next.chain.acknowledge(number)
    commit(&world, next)
    world.acknowledgedIn[world.ledger.chain.id] = max(world.acknowledged, number)
  }

  private static func takeNumber(_ world: inout World) -> [String] {
    begin(&world)
    if world.ledger.sequence.needsBlock {
      var next = world.ledger
      next.sequence.reserveBlock()
      commit(&world, next)
    }
    let number = world.ledger.sequence.take()
    let kid = world.ledger.kid
    defer { world.sequences[kid] = number }
    return number > world.sequences[kid] ?? 0 ? [] : ["numbers of a key rise, whatever was lost"]
  }

  private static func takeConnection(_ world: inout World) -> [String] {
    begin(&world)
    if world.ledger.connection.needsBlock {
      var next = world.ledger
      next.connection.reserveBlock()
      commit(&world, next)
    }
    let number = world.ledger.connection.take()
    defer { world.connection = number }
    return number > world.connection ? [] : ["numbers of connections rise"]
  }

  private static func invariants(_ world: World, _ old: Ledger, _ move: Move) -> [String] {
    var broken: [String] = []
    let chain = world.ledger.chain
    if !chain.isWhole { broken.append("a chain has no holes") }
    if chain.waiting.count > bounds.events { broken.append("the journal is bounded") }
    if let first = chain.waiting.first, first.first > world.acknowledged + 1 {
      broken.append("what was not acknowledged waits, or is declared lost")
    }
    if chain.waiting.isEmpty, chain.number > world.acknowledged { broken.append("nothing goes unacknowledged") }
    for (number, digest) in world.seen[chain.id] ?? [:] where number == chain.number && digest != chain.head {
      broken.append("the head is the event that was given out")
    }
    if chain.number == 0, world.opening == .asLeft { broken.append("a chain has a reason to begin") }
    if chain.id != old.chain.id {
      let isCrash = move == .crash || move == .crashBetween
      if isCrash, old.chain.number > 0 { broken.append("a crash alone begins no chain") }
      if chain.generation <= old.chain.generation, move != .loseBoth, old.chain.number > 0 {
        broken.append("generations rise")
      }
    }
    if Ledger(rows: world.ledger.rows, kid: world.ledger.kid)?.rows != world.ledger.rows {
      broken.append("a ledger is what its rows say")
    }
    return broken
  }

  @Test func `every order of events, crashes and losses keeps the journal's promises`() {
    let depth = Long.isWanted ? 6 : 4
    let result = Exploration.run(from: World.new(), depth: depth, events: Self.moves, step: Self.step)
    #expect(result.failures.isEmpty, "\(result.failures.first ?? "")")
    print("journal: depth \(depth), \(result.states) states, \(result.steps) steps")
    #expect(result.states > 1_000)
  }
}
