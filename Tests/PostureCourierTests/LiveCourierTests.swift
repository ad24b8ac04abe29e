import Glibc
import Posture
import PosturePlatform
import PostureMQTT
import PostureTokens
import TestKit
import Testing

@testable import PostureCourier

/// The courier as it runs, against a real mosquitto.
@Suite(.serialized, .enabled(if: Broker.isInstalled, "needs mosquitto"))
struct LiveCourierTests {
  private func isReport(_ request: AttesterRequest) -> Bool { if case .report = request { true } else { false } }

  @Test func `it is born with keys, presence and a report, and dies with its will`() throws {
    let live = try LiveCourier()
    try live.start()
    let name = live.device.name
    try live.message(.keys(name))
    let birth = try live.message(.presence(name))
    #expect(birth.claims["state"] == "online")
    #expect(try live.message(.report(name)).claims["cause"] == "start")
    live.agent?.crash()
    let will = try live.message(.presence(name))
    #expect(will.claims["state"] == "offline")
    #expect(will.claims["chal"] == birth.claims["chal"])
    #expect(will.claims["conn"] == birth.claims["conn"])
  }

  @Test func `SIGTERM ends it within a second, offline, with status 0`() throws {
    let live = try LiveCourier()
    try live.ready()
    let start = Clock.monotonicMilliseconds
    live.agent?.send(SIGTERM)
    #expect(live.agent?.wait(3_000) == 0)
    #expect(Clock.monotonicMilliseconds - start < 1_000)
    #expect(try live.message(.presence(live.device.name)).claims["state"] == "offline")
  }

  @Test func `SIGTERM ends it within a second when the broker says nothing`() throws {
    let live = try LiveCourier()
    try live.ready()
    live.broker.freeze()
    let start = Clock.monotonicMilliseconds
    live.agent?.send(SIGTERM)
    #expect(live.agent?.wait(3_000) == 0)
    #expect(Clock.monotonicMilliseconds - start < 1_000)
    live.broker.thaw()
  }

  @Test func `a recheck is answered with progress and one report on both topics`() throws {
    let live = try LiveCourier()
    try live.ready()
    let name = live.device.name
    live.send(try live.site.recheck(.device(live.device), nonce: "nonce-12345678"), .recheckDevice(name))
    var states: [String] = []
    var replied: String?
    let reported = try live.message(.report(name)) { $0["eat_nonce"]?.strings == ["nonce-12345678"] }.token
    live.look(300)
    for message in live.seen where message.topic == live.topic(.reply(name)) {
      guard let text = message.text, let claims = LiveCourier.claims(text) else { continue }
      if let state = claims["state"]?.string { states.append(state) }
      if claims["eat_nonce"] != nil { replied = text }
    }
    #expect(states == ["accepted", "running"])
    #expect(replied == reported)
    #expect(live.attester.count { if case .report(["nonce-12345678"], .recheck) = $0 { true } else { false } } == 1)
  }

  @Test func `group and site commands count, foreign, retained and repeated ones do not`() throws {
    let live = try LiveCourier()
    try live.ready()
    let (name, site) = (live.device.name, live.site)
    let lathe = Audience.group(site: site.name, Name("lathe")!)
    live.send(try site.recheck(lathe, id: "jti-00000010", nonce: "nonce-group"), .recheckGroup(Name("lathe")!))
    try live.message(.report(name)) { $0["eat_nonce"]?.strings == ["nonce-group"] }
    let all = try site.recheck(.site(site.name), id: "jti-00000011", nonce: "nonce-site")
    live.send(all, .recheckAll)
    try live.message(.report(name)) { $0["eat_nonce"]?.strings == ["nonce-site"] }
    let before = live.attester.count(isReport)
    let written = try AtomicFile.readAny(live.folder.file("courier/commands.json"))
    for _ in 0..<200 { live.send(all, .recheckAll) }
    live.send(try site.recheck(.device(site.party("dev-2")), id: "jti-00000012"), .recheckDevice(name))
    live.send(try site.recheck(.device(live.device), id: "jti-00000013"), .recheckAll)
    live.send(String(all.dropLast(4)) + "AAAA", .recheckAll)
    live.send("", .recheckDevice(name))
    live.look(1_000)
    #expect(live.attester.count(isReport) == before)
    #expect(try AtomicFile.readAny(live.folder.file("courier/commands.json")) == written)
    // A retained command meets a courier that starts after it.
    live.agent?.crash()
    live.send(
      try site.recheck(.device(live.device), id: "jti-00000014", nonce: "nonce-stale"), .recheckDevice(name),
      retain: true)
    try live.ready()
    live.look(500)
    #expect(live.attester.count { if case .report(["nonce-stale"], _) = $0 { true } else { false } } == 0)
    // And over the restart a command of before stays a replay.
    live.send(all, .recheckAll)
    live.look(500)
    #expect(live.attester.count { if case .report(["nonce-site"], _) = $0 { true } else { false } } == 1)
  }

  @Test func `twenty askers at once are all answered, with few runs`() throws {
    let live = try LiveCourier()
    try live.ready()
    live.attester.set { $0.duration = 300 }
    let name = live.device.name
    let before = live.attester.count(isReport)
    for number in 0..<20 {
      live.send(
        try live.site.recheck(
          .device(live.device), id: "jti-1000\(1000 + number)", nonce: "nonce-1000\(1000 + number)"),
        .recheckDevice(name))
    }
    var open = Set((0..<20).map { "nonce-1000\(1000 + $0)" })
    _ = live.eventually(10_000) {
      for message in live.seen where message.topic == live.topic(.reply(name)) {
        let nonces = message.text.flatMap { LiveCourier.claims($0) }?["eat_nonce"]?.strings ?? []
        open.subtract(nonces)
      }
      return open.isEmpty
    }
    #expect(open.isEmpty)
    #expect(live.attester.count(isReport) - before <= 3)
  }

  @Test func `what a controller may not ask is refused, and said`() throws {
    let live = try LiveCourier()
    try live.ready()
    live.send(
      try live.site.recheck(.device(live.device), id: "jti-00000020", life: 3_600), .recheckDevice(live.device.name))
    let refusal = try live.message(.reply(live.device.name))
    #expect(refusal.claims["code"] == "tooLong")
    #expect(refusal.claims["jti"] == "jti-00000020")
    #expect(refusal.claims["controller"]?.string == live.site.controller.publicKey.kid)
  }

  @Test func `a change is reported within two seconds`() throws {
    let live = try LiveCourier()
    try live.ready()
    let start = Clock.monotonicMilliseconds
    live.attester.set { $0.changes += 1 }
    try live.message(.report(live.device.name)) { $0["cause"] == "change" }
    #expect(Clock.monotonicMilliseconds - start < 2_000)
  }

  @Test func `events arrive in order and none is lost while the broker dies again and again`() throws {
    let live = try LiveCourier()
    try live.ready()
    let rounds = Long.isWanted ? 50 : 4
    var added = 0
    for round in 0..<rounds {
      try live.attester.addEvents(12)
      added += 12
      live.attester.set { $0.changes += 1 }
      live.look(Int64.random(in: 0...400))
      if round % 2 == 0 { live.broker.crash() } else { live.broker.stop() }
      try live.broker.start()
      try live.expect(10_000) { if case .online = $0 { true } else { false } }
    }
    #expect(live.eventually(60_000) { live.attester.journal.isEmpty })
    live.look(500)
    let numbers = live.seen.filter { $0.topic == live.topic(.event(live.device.name)) }
      .compactMap { $0.text.flatMap { LiveCourier.claims($0) }?["eseq"]?.integer }
    // What the watcher missed while the broker was away it cannot know: order and digests are what counts here.
    #expect(numbers.count > added / 3)
    #expect(live.agent?.status == nil)
    print("broker restarted \(rounds) times, \(added) events, \(numbers.count) seen by the watcher")
    live.attester.set { $0.changes += 1 }
    #expect(try live.message(.report(live.device.name), within: 40_000).claims["seq"] != nil)
  }

  @Test func `a broker that has forgotten everything is told again`() throws {
    let live = try LiveCourier()
    try live.ready()
    let name = live.device.name
    live.broker.crash()
    try live.broker.start()
    try live.message(.keys(name), within: 15_000)
    #expect(try live.message(.presence(name)).claims["state"] == "online")
    try live.message(.report(name))
  }

  @Test func `another presence than its own is put right`() throws {
    let live = try LiveCourier()
    try live.ready()
    let name = live.device.name
    live.look(300)
    live.send("stale", .presence(name), retain: true)
    #expect(try live.message(.presence(name), within: 3_000).claims["state"] == "online")
    live.send("", .presence(name), retain: true)
    #expect(try live.message(.presence(name), within: 15_000).claims["state"] == "online")
  }

  @Test func `trust and policies are handed to the attester, each once`() throws {
    let live = try LiveCourier()
    try live.ready()
    let trust = try live.site.trust(version: 2)
    let policy = try live.site.recheck(.device(live.device), id: "jti-not-a-policy")
    live.send(trust, .trust, retain: true)
    live.send(policy, .policy, retain: true)
    live.send(policy, .groupPolicy(Name("lathe")!), retain: true)
    live.send(policy, .groupPolicy(Name("foreign")!), retain: true)
    live.send("no token at all", .trust)
    #expect(live.eventually { live.attester.requests.contains(.trust(token: trust)) })
    #expect(live.eventually { live.attester.count { $0 == .policy(token: policy) } == 2 })
    live.send(trust, .trust, retain: true)
    live.look(500)
    #expect(live.attester.count { $0 == .trust(token: trust) } == 1)
    #expect(live.attester.count { $0 == .policy(token: policy) } == 2)
  }

  @Test func `an attester that is silent, hangs up, babbles or floods is contained, and heard again`() throws {
    let live = try LiveCourier()
    try live.ready()
    for mood in [ScriptedAttester.Mood.hangingUp, .babbling, .flooding] {
      live.attester.set {
        $0.mood = mood
        $0.changes += 1
      }
      live.send(
        try live.site.recheck(.device(live.device), id: "jti-2\(UInt32.random(in: 1_000_000...9_999_999))"),
        .recheckDevice(live.device.name))
      live.look(700)
      #expect(live.agent?.status == nil)
      live.attester.set { $0.mood = .honest }
      try live.message(.report(live.device.name), within: 45_000)
    }
    live.attester.stop()
    live.look(500)
    try live.attester.start()
    live.attester.set { $0.changes += 1 }
    try live.message(.report(live.device.name), within: 30_000) { $0["cause"] == "change" }
    #expect(live.agent?.status == nil)
  }

  /// It watches nothing before it has looked, and has counted as many changes as the one before: none, or some.
  @Test(arguments: [Int64(0), 3]) func `an attester that was started again is asked to look`(_ changes: Int64) throws {
    let live = try LiveCourier()
    live.attester.set { $0.changes = changes }
    try live.ready()
    live.look(1_500)
    let count = live.attester.count { if case .report = $0 { true } else { false } }
    live.attester.stop()
    live.look(300)
    try live.attester.start()
    #expect(live.eventually { live.attester.count { if case .report = $0 { true } else { false } } > count })
  }

  /// Twenty seconds, a report that is due or not: whoever says nothing to a question that needs no looking is not waited
  /// for as long as an examination may take.
  @Test(.enabled(if: Long.isWanted, "waits for half a minute"))
  func `an attester that owes a report and is silent is given up in twenty seconds`() throws {
    let live = try LiveCourier()
    try live.ready()
    live.attester.set {
      $0.mood = .silent
      $0.changes += 1
    }
    live.send(try live.site.recheck(.device(live.device)), .recheckDevice(live.device.name))
    let start = Clock.monotonicMilliseconds
    #expect(live.eventually(25_000) { live.log.contains("attester: no answer in time (report)") })
    print("silent attester given up after \(Clock.monotonicMilliseconds - start) ms")
    #expect(Clock.monotonicMilliseconds - start < 23_000)
    live.attester.set { $0.mood = .honest }
    // The command still lives, and is answered.
    try live.message(.report(live.device.name), within: 30_000) { $0["cause"] == "recheck" }
  }

  /// One that answers what needs no looking is busy, not silent.
  @Test(.enabled(if: Long.isWanted, "waits for half a minute"))
  func `an examination that takes long is waited for`() throws {
    let live = try LiveCourier()
    try live.ready()
    live.attester.set { $0.duration = 27_000 }
    live.send(try live.site.recheck(.device(live.device)), .recheckDevice(live.device.name))
    try live.message(.report(live.device.name), within: 40_000) { $0["cause"] == "recheck" }
    #expect(!live.log.contains("no answer in time"))
  }

  @Test func `SIGHUP takes a new configuration, and keeps the old one where the new one is wrong`() throws {
    let live = try LiveCourier()
    try live.ready()
    try live.configure("{ // broken\n \"period\": 0 }")
    live.agent?.send(SIGHUP)
    #expect(live.eventually { live.log.contains("the old one stays") })
    live.send(try live.site.recheck(.device(live.device), nonce: "nonce-after-hup"), .recheckDevice(live.device.name))
    try live.message(.report(live.device.name)) { $0["eat_nonce"]?.strings == ["nonce-after-hup"] }
    try live.configure(
      "{\"state\": \"\(live.folder.path)\", \"socket\": \"\(live.attester.path)\", \"clock\": \"trusted\", \"period\": 10}"
    )
    live.agent?.send(SIGHUP)
    try live.message(.report(live.device.name), within: 20_000) { $0["cause"] == "schedule" }
  }

  @Test func `a broker that is not there is said once, and looked for`() throws {
    let live = try LiveCourier()
    live.broker.stop()
    try live.start()
    live.look(4_000)
    #expect(live.log.split(separator: "\n").count { $0.contains("<4>broker:") } == 1)
    try live.broker.start()
    try live.message(.report(live.device.name), within: 30_000)
  }

  @Test func `without an enrolment it says so`() throws {
    let folder = try Folder()
    let path = try folder.write("agent.json", "{\"state\": \"\(folder.path)\"}")
    var command = Command(LiveCourier.program, ["run", "--alone", "--config", path])
    command.timeout = 5_000
    let output = try command.run()
    #expect(output.status == 70)
    #expect(String(decoding: output.err, as: UTF8.self).contains("not enrolled"))
  }

  @Test func `systemd hears of readiness, life and the end`() throws {
    let live = try LiveCourier()
    let path = live.folder.file("notify")
    let notify = try DatagramSocket(path)
    let agent = try RunningProcess(
      LiveCourier.program, ["run", "--alone", "--config", live.folder.file("agent.json")], log: live.folder.file("log"),
      environment: ["NOTIFY_SOCKET=\(path)", "WATCHDOG_USEC=400000"])
    let words =
      notify.collect(2_000)
      + { () -> [String] in
        agent.send(SIGTERM)
        return notify.collect(1_000)
      }()
    #expect(words.contains { $0.hasPrefix("READY=1") })
    #expect(words.count { $0 == "WATCHDOG=1" } >= 5)
    #expect(words.contains("STOPPING=1"))
    #expect(agent.wait() == 0)
  }
}

/// A Unix socket that datagrams are sent to.
private struct DatagramSocket: ~Copyable {
  private let socket: Descriptor

  init(_ path: String) throws {
    socket = Descriptor(owning: Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let number = socket.number
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(result == 0)
  }

  func collect(_ milliseconds: Int64) -> [String] {
    var words: [String] = []
    let until = Clock.monotonicMilliseconds + milliseconds
    while Clock.monotonicMilliseconds < until {
      var polled = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
      guard poll(&polled, 1, 50) > 0, let bytes = try? socket.read(4_096) else { continue }
      words.append(String(decoding: bytes, as: UTF8.self))
    }
    return words
  }
}
