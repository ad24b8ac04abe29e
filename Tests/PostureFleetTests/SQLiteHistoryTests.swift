import Glibc
import Posture
import PosturePlatform
import PostureSQLite
import Synchronization
import Testing

@testable import PostureFleet

@Suite struct SQLiteHistoryTests {
  private let path = "/tmp/posture-history-\(getpid())-\(UInt64.random(in: 0...UInt64.max)).db"

  private func record(
    _ seq: Int64, digest: String = "d", kind: TokenKind = .report, chain: String = "", device: String = "edge-1",
    received: Int64 = 100
  ) -> HistoryRecord {
    HistoryRecord(
      device: Name(device)!, kid: "k", kind: kind, chain: chain, seq: seq, digest: digest, issued: seq,
      received: received, verdict: .pass, token: Array("a.b.c".utf8))
  }

  private func withHistory(_ body: (SQLiteHistory) throws -> Void) throws {
    defer { ["", "-wal", "-shm"].forEach { unlink(path + $0) } }
    try body(try SQLiteHistory(path: path))
  }

  @Test func `the same message is kept once, another under its number is told`() throws {
    try withHistory { history in
      let reports = try history.insert([record(1), record(1), record(1, digest: "e")])
      #expect(reports == [.inserted, .duplicate, .conflict])
      let events = try history.insert([record(1, kind: .event, chain: "A"), record(1, kind: .event, chain: "B")])
      #expect(events == [.inserted, .inserted])
      let kept = try history.records(of: Name("edge-1")!, limit: 10)
      #expect(kept.count == 4)
      // Both sides of a contradiction are kept, and it is told once.
      #expect(Set(kept.filter { $0.kind == .report }.map(\.digest)) == ["d", "e"])
      let again = try history.insert([record(1), record(1, digest: "e"), record(1, digest: "f")])
      #expect(again == [.duplicate, .duplicate, .conflict])
      let contradicted = try history.contradicted()
      #expect(contradicted == [Name("edge-1")!: 100])
      let newest = try history.insert([record(7), record(9, kind: .event, chain: "A"), record(8, device: "edge-2")])
      #expect(newest == [.inserted, .inserted, .inserted])
      let numbers = try ["edge-1", "edge-2", "edge-3"].map { try history.newestReport(of: Name($0)!, by: "k") }
      #expect(numbers == [7, 8, nil])
      let stranger = try history.newestReport(of: Name("edge-1")!, by: "x")
      #expect(stranger == nil)
    }
  }

  @Test func `since when is told, and whether the change was seen`() throws {
    try withHistory { history in
      func report(_ seq: Int64, _ verdict: Verdict, _ device: String) -> HistoryRecord {
        var report = record(seq, device: device, received: seq)
        (report.kid, report.verdict) = (device, verdict)
        return report
      }
      func since(_ device: String) throws -> [String] {
        try history.since(.fail, of: Name(device)!).map { ["\($0.at)", "\($0.isSeen)"] } ?? []
      }
      _ = try history.insert([
        report(5, .fail, "first"), report(6, .fail, "first"), report(5, .pass, "seen"), report(6, .fail, "seen"),
        report(7, .fail, "seen"), report(5, .pass, "gap"), report(7, .fail, "gap"),
      ])
      #expect(try since("first") == ["5", "false"])
      #expect(try since("seen") == ["6", "true"])
      #expect(try since("gap") == ["7", "false"])
      #expect(try since("none") == [])
    }
  }

  /// Somebody else holds the file for longer than one waits for it.
  @Test func `what could not be stored is stored with what comes next, contradictions too`() throws {
    try withHistory { history in
      let ledger = try HistoryLedger(history)
      let conflicts = Conflicts()
      ledger.onConflict = { _ in conflicts.count.add(1, ordering: .relaxed) }
      let thread = try Thread.start("ledger") { ledger.run() }
      let other = try Database(path: path)
      try other.execute("BEGIN IMMEDIATE")
      for record in [record(1), record(1, digest: "e")] { ledger.put(record) }
      #expect(eventually { ledger.trouble != nil })
      try other.execute("COMMIT")
      ledger.put(record(2))
      #expect(eventually { ledger.trouble == nil && ledger.stored == 2 })
      ledger.stop()
      thread.join()
      #expect(conflicts.count.load(ordering: .relaxed) == 1)
      let kept = try history.records(of: Name("edge-1")!, limit: 10)
      #expect(kept.count == 3)
    }
  }

  private final class Conflicts: Sendable {
    let count = Atomic<Int>(0)
  }

  private func eventually(_ isSo: () -> Bool) -> Bool {
    for _ in 0..<300 where !isSo() { Clock.sleep(milliseconds: 100) }
    return isSo()
  }

  @Test func `what is stored survives and comes back as it was`() throws {
    try withHistory { history in
      _ = try history.insert([record(1), record(2, received: 200), record(3, device: "edge-2", received: 300)])
      let again = try SQLiteHistory(path: path)
      let records = try again.records(of: Name("edge-1")!, limit: 10)
      #expect(records == [record(2, received: 200), record(1)])
      var seen: [Int64] = []
      try again.forEach(since: 200, device: nil) {
        seen.append($0.seq)
        return true
      }
      #expect(seen == [2, 3])
      seen = []
      try again.forEach(since: 0, device: Name("edge-2")) {
        seen.append($0.seq)
        return true
      }
      #expect(seen == [3])
      seen = []
      try again.forEach(since: 0, device: nil) {
        seen.append($0.seq)
        return false
      }
      #expect(seen == [1])
    }
  }

  @Test func `retention forgets the old ones only`() throws {
    try withHistory { history in
      _ = try history.insert([record(1, received: 10), record(2, received: 20)])
      let forgotten = try history.prune(before: 20)
      #expect(forgotten == 1)
      let left = try history.records(of: Name("edge-1")!, limit: 10)
      #expect(left.map(\.seq) == [2])
    }
  }

  @Test func `the file is private, and one that is no database is refused`() throws {
    try withHistory { _ in
      var status = stat()
      #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }
    let file = fopen(path, "w")
    fputs(String(repeating: "this is not a database ", count: 100), file)
    fclose(file)
    defer { unlink(path) }
    #expect(throws: HistoryError.self) { try SQLiteHistory(path: path) }
    #expect(throws: HistoryError.self) { try SQLiteHistory(path: "/nowhere/at/all.db") }
  }
}
