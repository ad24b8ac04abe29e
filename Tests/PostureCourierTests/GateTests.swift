import Posture
import PostureTokens
import TestKit
import Testing

@testable import PostureCourier

struct GateTests {
  let site = try! TestSite()
  var device: Party { site.party("dev-1") }
  private var group: Audience { .group(site: site.name, Name("lathe")!) }

  private func command(
    _ audience: Audience? = nil, id: String = "jti-00000001", life: Int64 = 120, challenge: String? = nil,
    sequence: Int64? = nil, at: Int64? = nil
  ) throws -> DeviceVerifier.Command {
    let audience = audience ?? .device(device)
    let token = try site.recheck(
      audience, id: id, life: life, challenge: challenge, sequence: sequence, at: at)
    let verifier = DeviceVerifier(device: device, groups: [Name("lathe")!], trust: try site.store())
    return try verifier.command(Array(token.utf8), on: audience.recheckTopic, at: Moment(site.now))
  }

  private func gate() -> Gate { Gate(device: device, memory: CommandMemory()) }

  private func isObeyed(_ decision: Gate.Decision) -> Bool { if case .obey = decision { true } else { false } }

  @Test func `an honest command is obeyed once`() throws {
    var gate = gate()
    let command = try command()
    #expect(isObeyed(gate.judge(command, challenge: nil, at: Moment(site.now), 0)))
    #expect(gate.judge(command, challenge: nil, at: Moment(site.now), 1) == .ignore(.replayed))
  }

  @Test func `the pace of runs is a setting`() throws {
    var (limited, free) = (gate(), gate())
    free.pace(every: 0)
    var obeyed = (limited: 0, free: 0)
    for number in 10...30 {
      let command = try command(id: "jti-000000\(number)")
      if isObeyed(limited.judge(command, challenge: nil, at: Moment(site.now), 0)) { obeyed.limited += 1 }
      if case .obey(let order) = free.judge(command, challenge: nil, at: Moment(site.now), 0), order.start == 0 {
        obeyed.free += 1
      }
    }
    #expect(obeyed.free == 21)
    #expect(obeyed.limited < 21)
  }

  @Test func `a command is remembered over a restart`() throws {
    var gate = gate()
    let command = try command()
    _ = gate.judge(command, challenge: nil, at: Moment(site.now), 0)
    let memory = try #require(CommandMemory(json: try JSONParser.parse(gate.memory.json.bytes), 0))
    var next = Gate(device: device, memory: memory)
    #expect(next.judge(command, challenge: nil, at: Moment(site.now), 1) == .ignore(.replayed))
  }

  @Test func `a hundred thousand replays change nothing that is written`() throws {
    var gate = gate()
    let command = try command()
    _ = gate.judge(command, challenge: nil, at: Moment(site.now), 0)
    let written = gate.memory
    for now in 1...100_000 {
      #expect(gate.judge(command, challenge: nil, at: Moment(site.now), Int64(now)) == .ignore(.replayed))
    }
    #expect(gate.memory == written)
  }

  @Test func `what is out of its time is refused`() throws {
    for (life, at, code) in [
      (Int64(301), Int64(0), RefusalCode.tooLong), (10 * 365 * 86_400, 0, .tooLong), (60, -60, .expired),
      (60, 3_600, .expired),
    ] {
      var gate = gate()
      let token = try command(life: life, at: site.now + at)
      #expect(gate.judge(token, challenge: nil, at: Moment(site.now), 0) == .refuse(code))
      #expect(gate.memory.count == 0)
    }
  }

  @Test func `past the trust document's end commands are refused`() throws {
    var gate = gate()
    let token = try site.recheck(.device(device))
    let verifier = DeviceVerifier(device: device, groups: [], trust: try site.store())
    let late = try verifier.command(
      Array(token.utf8), on: Audience.device(device).recheckTopic, at: Moment(site.now + 1_000_000 - 1))
    #expect(!late.isTrustExpired)
    var short = try TrustStore(site: site.name, root: site.root.jwk)
    try short.accept(Array(site.trust(version: 2, until: site.now + 10).utf8), at: Moment(site.now))
    let expired = try DeviceVerifier(device: device, groups: [], trust: short).command(
      Array(token.utf8), on: Audience.device(device).recheckTopic, at: Moment(site.now + 20))
    #expect(gate.judge(expired, challenge: nil, at: Moment(site.now + 20), 0) == .refuse(.trustExpired))
  }

  @Test func `without a clock a command must repeat this connection's challenge`() throws {
    let moment = Moment(site.now - 1_000, isTrusted: false)
    for (challenge, isGood) in [("challenge-1", true), ("challenge-0", false), (nil, false)] {
      var gate = gate()
      let decision = gate.judge(try command(challenge: challenge), challenge: "challenge-1", at: moment, 0)
      #expect(isGood ? isObeyed(decision) : decision == .refuse(.staleChallenge))
    }
    var gate = gate()
    #expect(gate.judge(try command(challenge: nil), challenge: nil, at: moment, 0) == .refuse(.staleChallenge))
  }

  @Test func `without a clock a group's command must bring a higher number, with one any will do`() throws {
    let blind = Moment(site.now - 1_000, isTrusted: false)
    var gate = gate()
    #expect(isObeyed(gate.judge(try command(group, id: "jti-a0000001", sequence: 5), challenge: nil, at: blind, 0)))
    #expect(
      gate.judge(try command(group, id: "jti-a0000002", sequence: 5), challenge: nil, at: blind, 0)
        == .refuse(.staleChallenge))
    #expect(
      gate.judge(try command(group, id: "jti-a0000003"), challenge: nil, at: blind, 0) == .refuse(.staleChallenge))
    #expect(
      isObeyed(gate.judge(try command(group, id: "jti-a0000004", sequence: 4), challenge: nil, at: Moment(site.now), 0))
    )
    #expect(isObeyed(gate.judge(try command(group, id: "jti-a0000005", sequence: 6), challenge: nil, at: blind, 0)))
  }

  @Test func `a time that is certain to be past is past without a clock, too`() throws {
    var gate = gate()
    let decision = gate.judge(
      try command(life: 60, challenge: "challenge-1"), challenge: "challenge-1",
      at: Moment(site.now + 61, isTrusted: false), 0)
    #expect(decision == .refuse(.expired))
  }

  @Test func `a date that is set ahead and back again does not make a command new`() throws {
    var gate = gate()
    let command = try command(life: 300)
    _ = gate.judge(command, challenge: nil, at: Moment(site.now), 0)
    gate.forget(at: Moment(site.now + 3_600 * 24 * 365), 60_000)
    #expect(gate.judge(command, challenge: nil, at: Moment(site.now + 61), 61_000) == .ignore(.replayed))
    gate.forget(at: Moment(site.now + 500), 500_000)
    #expect(gate.memory.count == 0)
  }

  /// Within one connection the challenge stays the same.
  @Test func `a command that was forgotten does not become new when the clock is lost or set back`() throws {
    let command = try command(life: 60, challenge: "challenge-1")
    for later in [Moment(site.now - 1_000, isTrusted: false), Moment(site.now)] {
      var gate = gate()
      #expect(isObeyed(gate.judge(command, challenge: "challenge-1", at: Moment(site.now), 0)))
      gate.forget(at: Moment(site.now + 400), 400_000)
      #expect(gate.memory.count == 0)
      #expect(gate.judge(command, challenge: "challenge-1", at: later, 400_000) == .refuse(.expired))
      // Over a restart, too.
      let memory = try #require(CommandMemory(json: try JSONParser.parse(gate.memory.json.bytes), 0))
      var next = Gate(device: device, memory: memory)
      #expect(next.judge(command, challenge: "challenge-1", at: later, 1) == .refuse(.expired))
      let new = try self.command(id: "jti-00000002", life: 120, challenge: "challenge-1")
      #expect(isObeyed(next.judge(new, challenge: "challenge-1", at: later, 1)))
    }
  }

  @Test func `three runs at once, then one in half a minute; who can wait waits, who rides along costs nothing`() throws
  {
    var gate = gate()
    var orders: [Gate.Order] = []
    for number in 0..<4 {
      let command = try command(id: "jti-b000000\(number)", life: 120)
      if case .obey(let order) = gate.judge(command, challenge: nil, at: Moment(site.now), 0) { orders.append(order) }
    }
    #expect(orders.map(\.start) == [0, 0, 0, 30_000])
    let impatient = try command(id: "jti-c0000001", life: 20)
    #expect(gate.judge(impatient, challenge: nil, at: Moment(site.now), 0) == .refuse(.rateLimited))
    let rider = try command(id: "jti-c0000002", life: 20)
    #expect(
      isObeyed(gate.judge(rider, challenge: nil, at: Moment(site.now), 0, load: .init(waiting: Gate.waitingCap - 1))))
    let late = try command(id: "jti-c0000003", life: 20)
    #expect(
      gate.judge(late, challenge: nil, at: Moment(site.now), 0, load: .init(waiting: Gate.waitingCap)) == .refuse(.busy)
    )
  }

  @Test func `refusals have a bucket of their own, and none is given twice`() throws {
    var gate = gate()
    var refused = 0
    for number in 0..<1_000 {
      let command = try command(id: "jti-d\(100_000 + number)", life: 3_000)
      if case .refuse = gate.judge(command, challenge: nil, at: Moment(site.now), 0) { refused += 1 }
    }
    #expect(refused == Gate.refusalBurst)
    let again = try command(id: "jti-d100000", life: 3_000)
    #expect(gate.judge(again, challenge: nil, at: Moment(site.now), 3_600_000) == .ignore(.replayed))
  }

  @Test func `a herd spreads over the time it is given`() {
    let delays = (0..<2_000).map { number in
      Gate.delay(of: site.party("dev-\(number)"), "jti-00000001", spread: 60)
    }
    #expect(delays.allSatisfy { (0..<60_000).contains($0) })
    for tenth in 0..<10 {
      let count = delays.count { $0 / 6_000 == Int64(tenth) }
      #expect((150...250).contains(count), "\(count) in part \(tenth)")
    }
    #expect(Gate.delay(of: device, "jti-00000001", spread: 60) == Gate.delay(of: device, "jti-00000001", spread: 60))
  }

  @Test func `a file that is not one of ours is not taken for a memory`() {
    for text in [
      "[]", "{}", #"{"commands":{},"sequences":[]}"#, #"{"commands":{"a b":"x"},"sequences":{}}"#,
      #"{"commands":[],"sequences":{}}"#,
    ] {
      #expect((try? JSONParser.parse(text)).flatMap { CommandMemory(json: $0, 0) } == nil, "\(text)")
    }
  }

  // MARK: Every order

  private struct World: Hashable {
    var gate: Gate
    var now: Int64 = 0
    var wall: Int64
    /// What is certain without a clock: it only grows.
    let bound: Int64
    var isTrusted = true
    var moment: Moment { isTrusted ? Moment(wall) : Moment(bound, isTrusted: false) }
    var obeyed: Set<String> = []
    var runs: Int64 = 0
    var refusals: Int64 = 0
  }

  private enum Move: Hashable {
    case command(Int, joins: Bool)
    case wait(Int64)
    case clock(Bool)
    case jump(Int64)
    case restart, forget
  }

  @Test func `every order of commands, waits, clocks and restarts keeps the gate's promises`() throws {
    let commands = [
      try command(id: "jti-00000001", life: 300), try command(id: "jti-00000002", life: 60, challenge: "challenge-1"),
      try command(id: "jti-00000003", life: 301), try command(id: "jti-00000004", life: 60, at: site.now - 90),
      try command(group, id: "jti-00000005", life: 300, sequence: 2),
      try command(group, id: "jti-00000006", life: 300, sequence: 1),
      try command(id: "jti-00000007", life: 20),
    ]
    let moves: [Move] =
      commands.indices.map { .command($0, joins: false) } + [
        .command(0, joins: true), .wait(1_000), .wait(40_000), .wait(400_000), .clock(true), .clock(false),
        .jump(86_400), .jump(-86_400), .jump(-390), .restart, .forget,
      ]
    let depth = Long.isWanted ? 6 : 4
    let result = Exploration.run(
      from: World(gate: gate(), wall: site.now, bound: site.now - 1_000), depth: depth, events: { _ in moves },
      step: { world, move in Self.step(&world, move, commands, device) })
    #expect(result.failures.isEmpty, "\(result.failures.first ?? "")")
    print("gate: depth \(depth), \(result.states) states, \(result.steps) steps")
  }

  private static func step(
    _ world: inout World, _ move: Move, _ commands: [DeviceVerifier.Command], _ device: Party
  ) -> [String] {
    let moment = world.moment
    switch move {
    case .wait(let time):
      world.now += time
      world.wall += time / 1_000
    case .clock(let isTrusted): world.isTrusted = isTrusted
    case .jump(let seconds): world.wall += seconds
    case .forget: world.gate.forget(at: moment, world.now)
    case .restart:
      guard let memory = CommandMemory(json: world.gate.memory.json, world.now) else { return ["memory can be read"] }
      world.gate = Gate(device: device, memory: memory)
      // The buckets begin anew.
      (world.runs, world.refusals) = (0, 0)
    case .command(let index, let joins): return judge(&world, commands[index], moment, joins)
    }
    return []
  }

  private static func judge(
    _ world: inout World, _ command: DeviceVerifier.Command, _ moment: Moment, _ joins: Bool
  ) -> [String] {
    var broken: [String] = []
    let before = world.gate.memory
    let load = joins ? Gate.Load(waiting: 1) : .none
    switch world.gate.judge(command, challenge: "challenge-1", at: moment, world.now, load: load) {
    case .obey(let order):
      if !world.obeyed.insert(command.claims.id).inserted { broken.append("obeyed once") }
      if command.claims.life > 300 { broken.append("a long life is not obeyed") }
      if moment.isPast(command.claims.expires) { broken.append("what has expired is not obeyed") }
      if !moment.isTrusted, case .device = command.claims.audience, command.claims.challenge != "challenge-1" {
        broken.append("without a clock the challenge counts")
      }
      if order.start > order.latest { broken.append("an order can be met") }
      if !joins { world.runs += 1 }
      // Counted at the time at which it may start, which for one that can wait is later.
      if world.runs > Int64(Gate.runBurst) + order.start / Gate.runInterval { broken.append("the rate holds") }
    case .refuse:
      world.refusals += 1
      if world.refusals > Int64(Gate.refusalBurst) + world.now / Gate.runInterval { broken.append("few refusals") }
      if world.gate.memory != before { broken.append("a refusal is not written") }
    case .ignore: if world.gate.memory != before { broken.append("what is ignored is not written") }
    }
    return broken
  }
}
