import Posture
import Synchronization
import TestKit
import Testing

@testable import PostureAttester
@testable import PostureTokens

@Suite struct ReportTests {
  @Test func `a report names its chain, echoes its nonces and says since when`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      let attester = try device.attester()
      let report = try device.report(attester.look(open: true, nonces: ["nonce-0001", "nonce-0002"]))
      #expect(report.verdict == .fail)
      #expect(report.nonces == ["nonce-0001", "nonce-0002"])
      #expect(report.sequence == 1)
      #expect(report.clock == .synced && report.expires == report.issuedAt + 7_500)
      let events = try device.events(attester)
      #expect(events.map(\.number) == [1, 2])
      #expect(report.chain.number == 2 && report.chain.chain == events[0].chain)
      #expect(report.chain.digest == SHA256.text(of: events[1].claims.bytes))
      device.pass(hours: 5)
      let later = try device.report(attester.look(open: true))
      #expect(later.evidence["findings"]?.array?.first?["since"]?.integer == report.issuedAt)
      #expect(try device.events(attester).count == 2)
    }
  }

  @Test func `an unset clock gives a lower bound and no end`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      device.hands.isTrusted.withLock { $0 = false }
      device.hands.wall.withLock { $0 = 4_000_000_000 }
      let attester = try device.attester()
      let report = try device.report(attester.look(open: false))
      #expect(report.clock == .unsynced && report.expires == nil)
      #expect(report.issuedAt == device.site.now - 100)
      device.hands.isTrusted.withLock { $0 = true }
      device.hands.wall.withLock { $0 = 0 }
      #expect(try device.report(attester.look(open: false)).clock == .unsynced)
    }
  }

  @Test func `time that was written down is a lower bound after a restart without a clock`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      device.pass(hours: 1000)
      let then = try device.report(device.attester().look(open: false)).issuedAt
      device.hands.isTrusted.withLock { $0 = false }
      device.hands.wall.withLock { $0 = 5 }
      #expect(try device.report(device.attester().look(open: false)).issuedAt == then)
    }
  }

  @Test func `events tell what appeared and what is gone, each after the one before`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      let attester = try device.attester()
      for isOpen in [false, true, true, false] { try attester.look(open: isOpen) }
      let events = try device.events(attester)
      #expect(events.count == 4)
      guard case .start(.enrolled) = events[0].body, case .change(let first) = events[1].body,
        case .change(let fail) = events[2].body, case .change(let pass) = events[3].body
      else {
        Issue.record("other events: \(events.map(\.body))")
        return
      }
      #expect(first.from == nil && first.to == .pass)
      #expect(fail.from == .pass && fail.to == .fail && fail.appeared.map(\.code) == ["openEntry"])
      #expect(pass.from == .fail && pass.to == .pass && pass.resolved.map(\.code) == ["openEntry"])
      for (before, after) in zip(events, events.dropFirst()) {
        #expect(after.previous == SHA256.text(of: before.claims.bytes))
      }
    }
  }

  @Test func `acknowledged events go, those of another chain stay`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      let attester = try device.attester()
      for isOpen in [false, true, false] { try attester.look(open: isOpen) }
      let chain = try device.events(attester)[0].chain
      try attester.acknowledge(chain: "another-chain", upTo: 4)
      #expect(try device.events(attester).count == 4)
      try attester.acknowledge(chain: chain, upTo: 2)
      #expect(try device.events(attester).map(\.number) == [3, 4])
      try attester.acknowledge(chain: chain, upTo: 9)
      #expect(try device.events(attester).isEmpty)
      try attester.look(open: true)
      #expect(try device.events(attester).map(\.number) == [5])
    }
  }

  @Test func `an overflow is one signed gap, and the chain goes on behind it`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      let bounds = EventChain.Bounds(events: 8, bytes: 1 << 20, age: 1_000)
      let attester = try device.attester(bounds: bounds)
      for round in 0..<40 { try attester.look(open: round % 2 == 0) }
      let events = try device.events(attester)
      #expect(events.count <= 8)
      guard case .gap(let first, let head) = events[0].body else {
        Issue.record("no gap: \(events[0].body)")
        return
      }
      #expect(first == 1 && events[0].previous == nil)
      #expect(events[1].previous == head && events[1].number == events[0].number + 1)
      #expect(events.last?.number == 41)
      for (before, after) in zip(events.dropFirst(), events.dropFirst(2)) {
        #expect(after.previous == SHA256.text(of: before.claims.bytes))
      }
      // … and it is the same after a restart.
      _ = consume attester
      #expect(try device.events(device.attester(bounds: bounds)) == events)
    }
  }

  @Test func `old age is counted in hours of running, not by the date`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      let attester = try device.attester(bounds: EventChain.Bounds(events: 100, bytes: 1 << 20, age: 10))
      for isOpen in [false, true, false] { try attester.look(open: isOpen) }
      device.hands.wall.withLock { $0 += 10 * 365 * 86_400 }
      try attester.look(open: true)
      #expect(try device.events(attester).count == 5)
      device.hands.wall.withLock { $0 -= 10 * 365 * 86_400 }
      device.pass(hours: 12)
      attester.tick()
      try attester.look(open: false)
      let events = try device.events(attester)
      #expect(events.count == 2 && events[0].number == 5)
    }
  }

  @Test func `nothing changes and next to nothing is written`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      let attester = try device.attester()
      try attester.look(open: true)
      let (writes, bytes) = (attester.journal.writes, attester.journal.bytesWritten)
      for _ in 0..<(24 * 4) {
        device.hands.uptime.withLock { $0 += 900_000 }
        device.hands.wall.withLock { $0 += 900 }
        try attester.look(open: true)
        attester.tick()
      }
      let (more, moreBytes) = (attester.journal.writes - writes, attester.journal.bytesWritten - bytes)
      print("24 hours of a report every 15 minutes: \(more) writes, \(moreBytes) bytes of rows")
      #expect(more <= 24)
      #expect(moreBytes < 24 * 64)
    }
  }

  @Test func `a hundred findings fit into an event, a report and the decoder`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      let attester = try device.attester()
      let report = try device.report(attester.look(open: true, extra: 500))
      #expect(report.verdict == .fail)
      guard case .change(let change) = try device.events(attester)[1].body else { return }
      #expect(change.appeared.count == 32 && change.leftOut == 501 - 32)
    }
  }

  @Test func `presence numbers rise across restarts, birth and will share one`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      var numbers: [Int64] = []
      for _ in 0..<3 {
        let attester = try device.attester()
        for _ in 0..<2 {
          let answer = try attester.presence(.init(id: "connection-1", counters: ["forged": 4]))
          guard case .presence(let birth, let will, let number) = answer else { continue }
          let online = try PresenceClaims(claims: device.claims(birth, .presence))
          let offline = try PresenceClaims(claims: device.claims(will, .presence))
          #expect(online.number == number && offline.number == number)
          #expect(online.state == .online && offline.state == .offline)
          #expect(online.counters == [JSON.Member("forged", 4)])
          numbers.append(number)
        }
      }
      #expect(numbers == numbers.sorted() && Set(numbers).count == 6)
    }
  }

  @Test func `lines about commands are signed, and not without end`() throws {
    try TemporaryFolder.with { folder in
      let device = try TestDevice(folder)
      let attester = try device.attester()
      let kid = String(repeating: "k", count: 43)
      let refusal = try attester.refusal(command: "jti-00000001", controller: kid, code: .busy)
      #expect(try RefusalClaims(claims: device.claims(refusal, .refusal)).code == .busy)
      var signed = 0
      while signed < 1_000, (try? attester.progress(command: "jti-00000001", state: .running)) != nil { signed += 1 }
      #expect(signed == 63)
      device.hands.uptime.withLock { $0 += 1_000 }
      #expect(throws: Never.self) { try attester.progress(command: "jti-00000001", state: .running) }
    }
  }
}
