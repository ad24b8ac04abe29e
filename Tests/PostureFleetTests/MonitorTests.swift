import Glibc
import Posture
import PosturePlatform
import PostureSQLite
import PostureTokens
import TestKit
import Testing

@testable import PostureFleet

/// A monitor as it is run, on a site of its own.
final class LiveMonitor {
  let address: String
  private let site: LiveSite
  private let arguments: [String]
  private var process: RunningProcess

  init(_ site: LiveSite, _ more: String...) throws {
    let port = try Loopback.freePort()
    self.site = site
    address = "http://127.0.0.1:\(port)"
    arguments = ["monitor", "--home", site.home.folder, "--listen", "127.0.0.1:\(port)"] + more
    process = try Self.start(arguments, site)
    try waitUntilUp(port)
  }

  private static func start(_ arguments: [String], _ site: LiveSite) throws -> RunningProcess {
    try RunningProcess(Path.join(Repository.products, "posturectl"), arguments, log: site.folder.file("monitor.log"))
  }

  private func waitUntilUp(_ port: UInt16) throws {
    for _ in 0..<1_000 where !Loopback.isOpen(port) { usleep(10_000) }
  }

  deinit { process.crash() }

  var residentBytes: Int { Measure.residentBytes(of: "\(process.pid)") }

  func stop() -> Int32? {
    process.send(SIGTERM)
    return process.wait(10_000)
  }

  /// kill -9, and a new one.
  func restart() throws {
    process.crash()
    process = try Self.start(arguments, site)
    for _ in 0..<1_000 {
      if (try? get("/api/v1/fleet")) != nil { return }
      usleep(10_000)
    }
  }

  /// Body and status of a request by curl.
  func request(_ path: String, _ options: String...) throws -> (status: Int, body: String) {
    var command = Command(
      "/usr/bin/curl", ["-s", "-m", "10", "-w", "\n%{http_code}", "\(address)\(path)"] + options)
    command.timeout = 15_000
    let text = String(decoding: try command.run().out, as: UTF8.self)
    let at = text.lastIndex(of: "\n") ?? text.startIndex
    return (Int(text[at...].dropFirst()) ?? 0, String(text[..<at]))
  }

  func get(_ path: String) throws -> JSON { try JSONParser.parse(try request(path).body, limits: .foreign) }

  /// Asks until `isGood` or ten seconds are over; what came last.
  @discardableResult
  func wait(_ path: String, until isGood: (JSON) -> Bool) throws -> JSON {
    var last = JSON.null
    for _ in 0..<100 {
      last = (try? get(path)) ?? .null
      if isGood(last) { return last }
      usleep(100_000)
    }
    return last
  }

  func waitForState(_ device: String, _ state: String) throws -> JSON {
    try wait("/api/v1/devices/\(device)") { $0["state"]?.string == state }
  }
}

@Suite(.serialized, .enabled(if: Broker.isInstalled && access("/usr/bin/curl", X_OK) == 0)) struct MonitorTests {
  private static let hostile = #""><script>document.title="owned"</script><img src=x onerror="document.title='owned'">"#

  /// A device whose every free text is an attack on whoever shows it.
  static var hostileFacts: ProbeResult {
    var facts = ProbeResult()
    facts.subjects = [Subject(name: hostile, uid: 1_000, kind: .owner, account: .active, password: .set)]
    facts.doors = [
      Door(
        hostile, .entry, hostile, .always, because: [Reason(hostile, file: hostile, line: 1)],
        cause: Cause("openEntry", observed: hostile))
    ]
    return facts
  }

  @Test func `the monitor shows what devices say, and keeps it over kill -9`() throws {
    let site = try LiveSite()
    let devices = try (1...3).map { try site.device("edge-\($0)") }
    for device in devices {
      device.change { $0 = .healthy }
      try device.start()
    }
    let monitor = try LiveMonitor(site)
    #expect(try monitor.waitForState("edge-3", "pass")["verdict"]?.string == "pass")
    devices[0].change { $0 = .open }
    devices[0].publishState()
    #expect(try monitor.waitForState("edge-1", "fail")["why"]?.string?.contains("openEntry") == true)
    usleep(400_000)
    let before = try monitor.get("/api/v1/devices/edge-1/history")["records"]?.array ?? []
    #expect(before.count == 2)

    try monitor.restart()
    let fleet = try monitor.wait("/api/v1/fleet") { $0["total"]?.integer == 3 && $0["counts"]?["pass"]?.integer == 2 }
    #expect(fleet["counts"]?["fail"]?.integer == 1)
    usleep(400_000)
    let after = try monitor.get("/api/v1/devices/edge-1/history")["records"]?.array ?? []
    #expect(after == before)
    // Since when is known from before the restart.
    let since = try monitor.wait("/api/v1/devices/edge-1") { $0["since"]?.integer != nil }["since"]?.integer
    #expect(since == before.first?["issued"]?.integer)

    devices[2].stop()
    #expect(try monitor.wait("/api/v1/devices/edge-3") { $0["online"]?.bool == false }["state"]?.string == "pass")
    #expect(monitor.stop() == 0)

    let export = try site.posturectl("export")
    let lines = String(decoding: export.out, as: UTF8.self).split(separator: "\n")
    #expect(lines.count { $0.contains(#""typ":"posture-credential+jwt""#) } == 3)
    #expect(lines.count == 7)
    try site.folder.write("export.jsonl", String(decoding: export.out, as: UTF8.self))
    #expect(try site.posturectl("verify", site.folder.file("export.jsonl"), "--offline").status == 0)
    // The file is enough.
    for words in [["history", "edge-1"], ["export"], ["acknowledge", "--list"]] {
      let file = ["--history", site.home.path(Home.File.history)]
      let command = Command(Path.join(Repository.products, "posturectl"), words + file)
      #expect(try command.run().status == 0, "\(words)")
    }
    for words in [["history"], ["export", "--device"], ["show"]] {
      let unknown = try site.posturectl(words + ["edge-9"])
      #expect(unknown.status == 3 && unknown.out.isEmpty, "\(words)")
      #expect(String(decoding: unknown.err, as: UTF8.self).contains("edge-9: nothing is known of it"), "\(words)")
    }
    #expect(try site.posturectl("export", "--device", "edge-1", "--since", "\(Clock.wall + 100)").status == 0)
    let changes = try site.posturectl("history", "edge-1", "--changes", "--json")
    #expect(String(decoding: changes.out, as: UTF8.self).split(separator: "\n").count == 2)
    devices.forEach { $0.stop() }
  }

  /// By an auditor who has the root and nothing else.
  @Test func `an export brings the keys that it verifies by, old ones too`() throws {
    let site = try LiveSite()
    let monitor = try LiveMonitor(site)
    for isSecond in [false, true] {
      let device = try site.device("edge-1", replaces: isSecond)
      device.change { $0 = .healthy }
      try device.start()
      try monitor.wait("/api/v1/devices/edge-1") { $0["kid"]?.string == device.kid }
      device.stop()
    }
    #expect(monitor.stop() == 0)
    let export = String(decoding: try site.posturectl("export", "--since", "4000000000").out, as: UTF8.self)
    #expect(export.split(separator: "\n").count == 2)
    let all = String(decoding: try site.posturectl("export").out, as: UTF8.self).split(separator: "\n")
    let credentials = all.prefix { $0.contains("posture-credential+jwt") }
    #expect(credentials.count == 2 && all.count == 4)

    let auditor = site.folder.file("auditor")
    mkdir(auditor, 0o700)
    for file in ["posture.json", "root.jwk"] {
      try Home.write(try Home.read(text: site.home.path(file)), to: "\(auditor)/\(file)")
    }
    func verify(_ lines: [Substring], _ more: String...) throws -> Command.Output {
      let file = try site.folder.write("export.jsonl", lines.joined(separator: "\n"))
      var command = Command(
        Path.join(Repository.products, "posturectl"),
        ["verify", file, "--offline", "--home", auditor] + more)
      command.timeout = 60_000
      return try command.run()
    }
    #expect(try verify(all).status == 0)
    #expect(String(decoding: try verify(all).out, as: UTF8.self).contains("posture-credential+jwt of edge-1"))
    let messages = Array(all.dropFirst(2))
    let unknown = try verify(messages)
    #expect(unknown.status == 1)
    #expect(String(decoding: unknown.err, as: UTF8.self).contains("export.jsonl:2: token refused: unknownKey"))
    // The keys from files, and nothing but credentials that verify.
    let files = try credentials.enumerated().map { number, line in
      try site.folder.write("\(number).jwt", CapturedToken.text(in: String(line))!)
    }
    #expect(try verify(messages, "--credential", files[0], "--credential", files[1]).status == 0)
    #expect(try verify(messages, "--credential", files[0]).status == 1)
    var forged = CapturedToken.text(in: String(credentials[0]))!
    forged.replaceSubrange(forged.index(forged.endIndex, offsetBy: -9)..., with: "AAAAAAAAA")
    try site.folder.write("forged.jwt", forged)
    #expect(try verify(messages, "--credential", site.folder.file("forged.jwt")).status == 70)
    let mixed = [Substring(forged), Substring(String(repeating: "x", count: 70_000)), "", credentials[0]]
    let told = try verify(mixed)
    let errors = String(decoding: told.err, as: UTF8.self)
    #expect(told.status == 1)
    #expect(errors.contains("export.jsonl:1: token refused: signature"))
    #expect(errors.contains("export.jsonl:2: token refused: tooLarge"))
    #expect(String(decoding: told.out, as: UTF8.self).contains("posture-credential+jwt of edge-1"))
  }

  @Test func `states of their own are never a pass`() throws {
    let site = try LiveSite()
    let monitor = try LiveMonitor(site)
    let devices = try ["forged", "cloned", "twice", "unknown-key"].map { try site.device($0) }
    for device in devices {
      device.change { $0 = .healthy }
      if device.party.name.description != "unknown-key" { try device.start() }
    }
    for name in ["forged", "cloned", "twice"] { _ = try monitor.waitForState(name, "pass") }

    devices[0].publish(.report(devices[0].party.name), .report, "nonsense")
    #expect(try monitor.waitForState("forged", "unverifiable")["state"]?.string == "unverifiable")

    // The same number of the same key with another connection.
    let other = PresenceClaims(
      issuer: devices[1].party, issuedAt: Clock.wall, state: .online, connection: "another-connection", number: 1,
      clock: .synced)
    devices[1].publish(.presence(devices[1].party.name), .presence, devices[1].sign(.presence, other.claims))
    #expect(try monitor.waitForState("cloned", "cloned")["state"]?.string == "cloned")
    let acknowledge = "/api/v1/devices/cloned/acknowledge"
    #expect(try monitor.request(acknowledge, "-X", "POST", "-H", "X-Posture: test").status == 400)
    #expect(try monitor.request("\(acknowledge)?why=new%20disk", "-X", "POST", "-H", "X-Posture: test").status == 200)
    #expect(try monitor.waitForState("cloned", "pass")["state"]?.string == "pass")
    #expect(try monitor.request("\(acknowledge)?why=again", "-X", "POST", "-H", "X-Posture: test").status == 409)

    devices[2].rewind()
    devices[2].change { $0 = .open }
    devices[2].publishState()
    #expect(try monitor.waitForState("twice", "equivocation")["state"]?.string == "equivocation")
    try acceptByCommandLine(site, monitor)

    try devices[3].start(withKeys: false)
    #expect(try monitor.waitForState("unknown-key", "awaitingKey")["state"]?.string == "awaitingKey")
    devices[3].publishState()
    #expect(try monitor.waitForState("unknown-key", "pass")["state"]?.string == "pass")

    _ = try site.posturectl("trust", "revoke", "unknown-key")
    #expect(try monitor.waitForState("unknown-key", "revoked")["state"]?.string == "revoked")
    devices.forEach { $0.stop() }
  }

  /// What was noticed lasts over kill -9, until somebody says why it is well; both messages and the words are kept.
  private func acceptByCommandLine(_ site: LiveSite, _ monitor: LiveMonitor) throws {
    _ = try monitor.wait("/api/v1/devices/twice/history") { $0["remarks"]?.array?.isEmpty == false }
    try monitor.restart()
    #expect(try monitor.waitForState("twice", "equivocation")["state"]?.string == "equivocation")
    let list = try site.posturectl("acknowledge", "--list")
    #expect(list.status == 1 && String(decoding: list.out, as: UTF8.self).contains("equivocation"))
    #expect(try site.posturectl("acknowledge", "twice").status == 64)
    #expect(try site.posturectl("acknowledge", "forged", "--why", "x").status == 1)
    let accepted = try site.posturectl("acknowledge", "twice", "--why", "state put back from a backup", "--by", "ann")
    #expect(accepted.status == 0, "\(String(decoding: accepted.err, as: UTF8.self))")
    #expect(try monitor.waitForState("twice", "fail")["state"]?.string == "fail")
    #expect(try site.posturectl("acknowledge", "--list").status == 0)
    let history = String(decoding: try site.posturectl("history", "twice").out, as: UTF8.self)
    #expect(history.contains("equivocation") && history.contains("acknowledged by ann:") && history.contains("backup"))
    // Both of the two messages are there, signed, and stay accepted after one more start.
    let export = String(decoding: try site.posturectl("export", "--device", "twice").out, as: UTF8.self)
    #expect(export.split(separator: "\n").count { $0.contains(#""typ":"eat+jwt""#) && $0.contains(#""seq":1,"#) } == 2)
    try monitor.restart()
    #expect(try monitor.waitForState("twice", "fail")["state"]?.string == "fail")
  }

  @Test func `only our own page may act, only known names are answered, and the token counts`() throws {
    let site = try LiveSite()
    let device = try site.device("edge-1")
    device.change { $0 = .healthy }
    try device.start()
    let file = try site.folder.write("token", "a-token-that-is-long-enough\n")
    let monitor = try LiveMonitor(site, "--token-file", file, "--recheck")
    let key = "Authorization: Bearer a-token-that-is-long-enough"
    for path in ["/api/v1/fleet", "/api/v1/devices", "/api/v1/events", "/metrics"] {
      #expect(try monitor.request(path).status == 401, "\(path)")
      #expect(try monitor.request(path, "-H", "Authorization: Bearer wrong-token-of-this-length").status == 401)
    }
    #expect(try monitor.request("/").status == 200)
    #expect(try monitor.request("/api/v1/fleet", "-H", key).status == 200)
    #expect(try monitor.request("/", "-H", "Host: elsewhere.example").status == 421)
    for path in ["/nothing", "/../etc/passwd", "/api/v1/devices/UPPER", "/api/v1/devices/none", "/api/v2/fleet"] {
      #expect(try monitor.request(path, "-H", key).status == 404, "\(path)")
    }
    let recheck = "/api/v1/devices/edge-1/recheck"
    for _ in 0..<50 where try monitor.request("/api/v1/devices/edge-1", "-H", key).status != 200 { usleep(100_000) }
    #expect(try monitor.request(recheck, "-H", key, "-X", "POST").status == 403)
    #expect(
      try monitor.request(recheck, "-H", key, "-X", "POST", "-H", "X-Posture: x", "-H", "Origin: http://evil.example")
        .status
        == 403)
    #expect(try monitor.request(recheck, "-H", key, "-H", "X-Posture: x").status == 404)
    #expect(try monitor.request(recheck, "-H", key, "-X", "POST", "-H", "X-Posture: x").status == 200)
    var records = 0
    for _ in 0..<50 {
      let answer = try monitor.request("/api/v1/devices/edge-1/history", "-H", key)
      records = try JSONParser.parse(answer.body)["records"]?.array?.count ?? 0
      if records == 2 { break }
      usleep(100_000)
    }
    #expect(records == 2)
    device.stop()
    let refused = try site.posturectl("monitor", "--listen", "0.0.0.0:0")
    #expect(refused.status == 64)
  }

  /// A site with one device, which its monitor shows as pass.
  private static func healthy() throws -> (LiveSite, SimulatedDevice, LiveMonitor) {
    let site = try LiveSite()
    let device = try site.device("edge-1")
    device.change { $0 = .healthy }
    try device.start()
    let monitor = try LiveMonitor(site)
    _ = try monitor.waitForState("edge-1", "pass")
    return (site, device, monitor)
  }

  @Test func `events tell of a change as it comes`() throws {
    let (site, device, monitor) = try Self.healthy()
    let listener = try RunningProcess(
      "/usr/bin/curl", ["-sN", "-m", "5", "\(monitor.address)/api/v1/events"], log: site.folder.file("events"))
    usleep(700_000)
    device.change { $0 = MonitorTests.hostileFacts }
    device.publishState()
    listener.wait(8_000)
    let text = String(decoding: try AtomicFile.readAny(site.folder.file("events")), as: UTF8.self)
    #expect(text.contains("event: rows\n"))
    #expect(text.contains(#""state":"fail""#))
    // One line an event, whatever the device says.
    #expect(
      text.split(separator: "\n").allSatisfy {
        $0.hasPrefix("event: ") || $0.hasPrefix("data: ") || $0.hasPrefix(":") || $0.hasPrefix("retry: ")
      })
    device.stop()
  }

  @Test func `trouble is told once when it begins and once when it ends`() throws {
    var troubles = TroubleLog()
    let said = [nil, "a: refused", "a: refused", "a: no route", nil, nil, "a: refused"].map { troubles.line("a", $0) }
    #expect(said == [nil, "a: refused", nil, nil, "a: well again", nil, "a: refused"])
    #expect(troubles.line("b", "b: full") == "b: full")

    let (site, device, monitor) = try Self.healthy()
    func lines(_ part: String) throws -> [String] {
      String(decoding: try AtomicFile.readAny(site.folder.file("monitor.log")), as: UTF8.self)
        .split(separator: "\n").map(String.init).filter { $0.hasPrefix("posturectl: \(part)") }
    }
    func wait(_ part: String, _ count: Int) throws {
      for _ in 0..<300 where try lines(part).count < count { usleep(100_000) }
    }
    let other = try Database(path: site.home.path(Home.File.history))
    try other.execute("BEGIN IMMEDIATE")
    device.publishState()
    try wait("history", 1)
    // The broker is away for several tries, of the history too.
    site.stopBroker()
    try wait("broker", 1)
    usleep(4_000_000)
    try site.startBroker()
    try wait("broker", 2)
    try other.execute("COMMIT")
    try wait("history", 2)
    #expect(try lines("history").last == "posturectl: history: well again")
    #expect(try lines("broker").last == "posturectl: broker: well again")
    #expect(try lines("").count == 4)
    device.stop()
    #expect(monitor.stop() == 0)
  }

  private static let promtool = "/usr/bin/promtool"

  @Test(.enabled(if: access(promtool, X_OK) == 0)) func `promtool takes the metrics, in both formats`() throws {
    let site = try LiveSite()
    let device = try site.device("edge-1")
    device.change { $0 = MonitorTests.hostileFacts }
    try device.start()
    let monitor = try LiveMonitor(site)
    _ = try monitor.waitForState("edge-1", "fail")
    usleep(700_000)
    let plain = try monitor.request("/metrics").body
    var check = Command(Self.promtool, ["check", "metrics"])
    check.input = Array((plain + "\n").utf8)
    let result = try check.run()
    #expect(result.status == 0, "\(String(decoding: result.err, as: UTF8.self))")
    #expect(plain.contains(#"posture_devices{state="fail"} 1"#))
    #expect(plain.contains(#"posture_device_pass{device="edge-1"} 0"#))
    let open = try monitor.request("/metrics", "-H", "Accept: application/openmetrics-text").body
    #expect(open.hasSuffix("# EOF\n") || open.hasSuffix("# EOF"))
    device.stop()
  }

  @Test(.enabled(if: access(promtool, X_OK) == 0)) func `the alert rules say what their tests expect`() throws {
    let folder = Repository.path("deploy/monitoring")
    for words in [
      ["test", "rules", "\(folder)/posture.rules.test.yml"], ["check", "config", "\(folder)/prometheus.yml"],
    ] {
      var command = Command(Self.promtool, words)
      command.timeout = 30_000
      let output = try command.run()
      #expect(output.status == 0, "\(String(decoding: output.out + output.err, as: UTF8.self))")
    }
  }
}
