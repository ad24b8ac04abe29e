import Glibc
import Posture
import PosturePlatform
import TestKit
import Testing

@testable import PostureAttester
@testable import PostureTokens

@Suite(.serialized, .enabled(if: LiveDevice.isBuilt, "needs posture-agent beside the tests")) struct LiveTests {
  private func with(keep: Bool = false, _ body: (LiveDevice, RunningProcess) throws -> Void) throws {
    try TemporaryFolder.with { top in
      let device = try LiveDevice(top, tree: try SmallMachine.make())
      let process = try device.start(keep: keep)
      defer { process.stop() }
      try body(device, process)
    }
  }

  @Test func `a report of a real process, verified`() throws {
    try with { device, _ in
      var client = try device.client()
      let report = try ReportClaims(claims: device.claims(client.report(["nonce-0001"], .recheck), .report))
      #expect(report.nonces == ["nonce-0001"] && report.cause == .recheck)
      #expect(report.verdict != .fail)
      #expect(report[.passcode] == .success)
      #expect(report.watch == .complete)
    }
  }

  /// From the change to the signed report that shows it.
  @Test(arguments: [
    "shadow in place", "shadow by rename", "sudoers.d", "polkit rules.d", "login.keyring", "authorized_keys",
  ])
  func `a change is told of within two seconds`(_ what: String) throws {
    try with { device, _ in
      let tree = device.tree
      var client = try device.client()
      var watch = try device.client()
      _ = try client.report()
      guard case .changed(let number, .complete) = try settled(&watch) else {
        Issue.record("not everything is watched")
        return
      }
      let began = Clock.boottimeMilliseconds
      switch what {
      case "shadow in place": try Files.write(Array(SmallMachine.openShadow.utf8), to: tree.place("/etc/shadow"))
      case "shadow by rename": try tree.write("/etc/shadow", SmallMachine.openShadow, mode: 0o600)
      case "sudoers.d": try tree.write("/etc/sudoers.d/alice", "alice ALL=(ALL) NOPASSWD: ALL\n", mode: 0o440)
      case "polkit rules.d":
        try tree.write("/etc/polkit-1/rules.d/20-open.rules", "polkit.addRule(function(a,s){return \"yes\";});\n")
      case "login.keyring":
        try Files.write([1, 2, 3], to: tree.place("/home/alice/.local/share/keyrings/login.keyring"))
      default: try Files.write(Array("# none\n".utf8), to: tree.place("/home/alice/.ssh/authorized_keys"))
      }
      guard case .changed(let next, _) = try watch.ask(.watch(after: number), timeout: 3_000) else { return }
      let report = try ReportClaims(claims: device.claims(client.report([], .change), .report))
      let took = Clock.boottimeMilliseconds - began
      print("\(what): \(took) ms until the report")
      #expect(next > number && took < 2_000)
      if what.hasPrefix("shadow") { #expect(report.verdict == .fail && report[.passcode] == .fail) }
    }
  }

  /// The number of changes once it stays the same.
  private func settled(_ watch: inout AttesterClient) throws -> AttesterAnswer {
    var answer = try watch.ask(.watch(after: Int64.max), timeout: 3_000)
    for _ in 0..<20 {
      usleep(400_000)
      let next = try watch.ask(.watch(after: Int64.max), timeout: 3_000)
      if next == answer { return answer }
      answer = next
    }
    return answer
  }

  @Test func `all who wait share one examination, and their nonces one token`() throws {
    try with { device, _ in
      _ = try device.client()
      let socket = try UnixSocket.connect(device.socket)
      try socket.writeAll(AttesterRequest.report(nonces: ["nonce-000a"], cause: .schedule).frame)
      let third = try UnixSocket.connect(device.socket)
      let fourth = try UnixSocket.connect(device.socket)
      try third.writeAll(AttesterRequest.report(nonces: ["nonce-000b"], cause: .schedule).frame)
      try fourth.writeAll(AttesterRequest.report(nonces: ["nonce-000c"], cause: .recheck).frame)
      let one = try token(third)
      let other = try token(fourth)
      #expect(one == other)
      let report = try ReportClaims(claims: device.claims(one, .report))
      #expect(Set(report.nonces).isSuperset(of: ["nonce-000b", "nonce-000c"]) && report.cause == .recheck)
      let first = try ReportClaims(claims: device.claims(token(socket), .report))
      #expect(first.nonces.contains("nonce-000a") && first.sequence <= report.sequence)
    }
  }

  private func token(_ socket: borrowing Descriptor) throws -> String {
    var reader = FrameReader(cap: Frame.answerCap)
    while true {
      if let payload = try reader.next() {
        guard case .token(let token) = try AttesterAnswer(payload: payload) else { return "" }
        return token
      }
      let bytes = try socket.read(65_536)
      guard !bytes.isEmpty else { return "" }
      reader.append(bytes)
    }
  }

  @Test func `nonsense on the socket hurts whoever sends it and nobody else`() throws {
    try with { device, process in
      _ = try device.client()
      for bytes: [UInt8] in [
        [0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 0], Frame.encode(Array("nonsense".utf8)),
        Frame.encode(Array(#"{"verb":"shell"}"#.utf8)), Random.bytes(5_000), [0, 0],
      ] {
        let socket = try UnixSocket.connect(device.socket)
        _ = try? UnixSocket.send(socket.number, bytes[...])
      }
      // Some that ask and never read; with those above not more than there is room for.
      var silent: [Int32] = []
      for _ in 0..<6 {
        let socket = try UnixSocket.connect(device.socket)
        _ = try? UnixSocket.send(socket.number, AttesterRequest.status.frame[...])
        silent.append(socket.release())
      }
      defer { silent.forEach { close($0) } }
      var client = try device.client()
      #expect(try !client.report().isEmpty)
      #expect(process.status == nil)
    }
  }

  @Test(.enabled(if: geteuid() == 0)) func `a stranger gets no answer`() throws {
    try with { device, _ in
      _ = try device.client()
      chmod(device.socket, 0o666)
      let output = try Command(
        "/usr/bin/setpriv",
        [
          "--reuid=65533", "--regid=65533", "--clear-groups", LiveDevice.agent, "status", "--config",
          "\(device.top)/none.json", "--socket", device.socket,
        ]
      ).run()
      #expect(output.status == 70)
    }
  }

  @Test func `the keeper starts it again, on the same socket`() throws {
    try with(keep: true) { device, keeper in
      var client = try device.client()
      let first = try ReportClaims(claims: device.claims(client.report(), .report)).sequence
      for _ in 0..<3 {
        for pid in children(of: keeper.pid) { kill(pid, SIGKILL) }
        var again = try device.client()
        let report = try ReportClaims(claims: device.claims(again.report(), .report))
        #expect(report.sequence > first)
      }
      keeper.send(SIGTERM)
      #expect(keeper.wait(3_000) == 0)
      #expect(children(of: keeper.pid).isEmpty)
    }
  }

  @Test(.enabled(if: Long.isWanted, "waits for two minutes"))
  func `the keeper ends one that hangs, and starts another`() throws {
    try with(keep: true) { device, keeper in
      var client = try device.client()
      let first = try ReportClaims(claims: device.claims(client.report(), .report)).sequence
      let hung = try #require(children(of: keeper.pid).first)
      kill(hung, SIGSTOP)
      let begin = Clock.monotonicMilliseconds
      while children(of: keeper.pid).contains(hung), Clock.monotonicMilliseconds - begin < 200_000 { usleep(200_000) }
      let took = Clock.monotonicMilliseconds - begin
      var again = try device.client()
      let report = try ReportClaims(claims: device.claims(again.report(), .report))
      print("hung attester ended after \(took) ms")
      #expect(took > 50_000 && took < 130_000 && report.sequence > first)
      // A healthy one says often enough that it is.
      let next = try #require(children(of: keeper.pid).first)
      Clock.sleep(milliseconds: 130_000)
      #expect(children(of: keeper.pid) == [next])
    }
  }

  private func children(of pid: pid_t) -> [pid_t] {
    let bytes = (try? Files.read("/proc/\(pid)/task/\(pid)/children")) ?? []
    return String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { pid_t($0) }
  }

  @Test func `no hash in any output, state or log`() throws {
    try with { device, process in
      var client = try device.client()
      var spoken = ""
      for shadow in [SmallMachine.shadow, SmallMachine.openShadow, SmallMachine.shadow] {
        try Files.write(Array(shadow.utf8), to: device.tree.place("/etc/shadow"))
        let token = try client.report()
        spoken += try device.claims(token, .report).text
        if case .status(let status) = try client.ask(.status) { spoken += status.text }
      }
      if case .events(_, let events) = try client.ask(.events(after: 0, limit: 256)) {
        for event in events { spoken += try device.claims(event.token, .event).text }
      }
      process.stop()
      let examined = try Command(
        LiveDevice.agent,
        ["attest", "--examine", "--root", device.tree.root, "--probe", "auth-policy", "--probe", "keyring"]
      ).run()
      spoken += String(decoding: examined.out + examined.err, as: UTF8.self)
      spoken += String(decoding: try Files.read(device.log), as: UTF8.self)
      for name in FolderListing.names(device.folder.attester) {
        spoken += String(decoding: try Files.read("\(device.folder.attester)/\(name)"), as: UTF8.self)
      }
      #expect(spoken.contains("alice"))
      #expect(!spoken.contains("PostureTestsHash") && !spoken.contains("0123456789abcdef"))
      let key = try String(decoding: FileKey(pem: Files.read(device.folder.attesterKey)).pem(), as: UTF8.self)
        .split(separator: "\n")[1]
      #expect(spoken.components(of: String(key)) == 1, "the key is in its own file only")
    }
  }

  @Test func `killed at random moments it neither repeats a number nor forks its chain`() throws {
    try TemporaryFolder.with { top in
      let device = try LiveDevice(top, tree: try SmallMachine.make())
      let rounds = !Long.isWanted ? 12 : 200
      var seen = Seen()
      for round in 0..<rounds {
        let process = try device.start()
        let moment = Clock.boottimeMilliseconds + Int64.random(in: 0...1_200)
        let shadow = round % 2 == 0 ? SmallMachine.openShadow : SmallMachine.shadow
        try device.tree.write("/etc/shadow", shadow, mode: 0o600)
        let killer = try Thread.start("killer") {
          usleep(useconds_t(max(0, moment - Clock.boottimeMilliseconds) * 1_000))
          process.send(SIGKILL)
        }
        // It goes away in the middle of something.
        if var client = try? device.client(within: 1_000) {
          while process.status == nil {
            guard let token = try? client.report() else { break }
            try seen.take(report: device.claims(token, .report))
            try seen.take(events: &client, device)
          }
        }
        killer.join()
        process.crash()
      }
      let process = try device.start()
      defer { process.stop() }
      var client = try device.client()
      let last = try device.claims(client.report(), .report)
      try seen.take(report: last)
      try seen.take(events: &client, device)
      print(
        "killed \(rounds) times: \(seen.reports.count) reports, \(seen.events.count) events, \(seen.chains.count) chain"
      )
      #expect(seen.chains.count == 1)
      let head = try ReportClaims(claims: last).chain
      #expect(Set(seen.events.keys) == Set(1...head.number))
      #expect(seen.events[head.number]?.digest == head.digest)
      for number in seen.events.keys where number > 1 {
        #expect(seen.events[number]?.previous == seen.events[number - 1]?.digest)
      }
    }
  }

  private struct Seen {
    var reports: [Int64: String] = [:]
    var events: [Int64: (digest: String, previous: String?)] = [:]
    var chains = Set<String>()

    mutating func take(report claims: JSON) throws {
      let report = try ReportClaims(claims: claims)
      let digest = SHA256.text(of: claims.bytes)
      #expect(reports[report.sequence] == nil || reports[report.sequence] == digest, "\(report.sequence) twice")
      reports[report.sequence] = digest
      chains.insert(report.chain.chain)
    }

    mutating func take(events client: inout AttesterClient, _ device: LiveDevice) throws {
      guard case .events(_, let tokens) = try? client.ask(.events(after: 0, limit: 256)) else { return }
      for token in tokens {
        let claims = try device.claims(token.token, .event)
        let event = try EventClaims(claims: claims)
        let digest = SHA256.text(of: claims.bytes)
        #expect(events[event.number] == nil || events[event.number]?.digest == digest, "event \(event.number) twice")
        events[event.number] = (digest, event.previous)
      }
    }
  }

  @Test(.enabled(if: geteuid() == 0)) func `the process has one right and no network`() throws {
    try with { device, process in
      var client = try device.client()
      _ = try client.report()
      let status = try String(decoding: Files.read("/proc/\(process.pid)/status"), as: UTF8.self)
      let lines = Dictionary(
        status.split(separator: "\n").compactMap { line -> (String, String)? in
          let parts = line.split(separator: ":", maxSplits: 1)
          return parts.count == 2 ? (String(parts[0]), parts[1].filter { $0 != "\t" && $0 != " " }) : nil
        }
      ) { $1 }
      #expect(lines["Uid"] == String(repeating: "64001", count: 4))
      #expect(lines["CapEff"] == "0000000000000004" && lines["CapBnd"] == "0000000000000004")
      #expect(lines["NoNewPrivs"] == "1")
      var own = [CChar](repeating: 0, count: 64)
      var its = own
      readlink("/proc/self/ns/net", &own, 63)
      readlink("/proc/\(process.pid)/ns/net", &its, 63)
      #expect(own != its)
      let interfaces = try String(decoding: Files.read("/proc/\(process.pid)/net/dev"), as: UTF8.self)
      #expect(interfaces.split(separator: "\n").dropFirst(2).allSatisfy { $0.contains("lo:") })
    }
  }
}

extension String {
  /// How many times `part` is in it.
  fileprivate func components(of part: String) -> Int {
    var count = 0
    var rest = self[...]
    while let range = rest.firstRange(of: part) {
      count += 1
      rest = rest[range.upperBound...]
    }
    return count
  }
}
