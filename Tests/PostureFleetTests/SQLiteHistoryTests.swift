import Glibc
import Posture
import PosturePlatform
import PostureSQLite
import Synchronization
import TestKit
import Testing

@testable import PostureFleet

@Suite struct SQLiteHistoryTests {
  private let path = "/tmp/posture-history-\(getpid())-\(UInt64.random(in: 0...UInt64.max)).db"

  private func record(
    _ seq: Int64, _ verdict: Verdict = .pass, digest: String = "d", kind: TokenKind = .report, chain: String = "",
    device: String = "edge-1", received: Int64 = 100, size: Int = 5
  ) -> HistoryRecord {
    HistoryRecord(
      device: Name(device)!, kid: "k", kind: kind, chain: chain, seq: seq, digest: digest, issued: seq,
      received: received, verdict: verdict, token: Array(repeating: UInt8(ascii: "a"), count: size))
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

  @Test func `what an operator accepted is no newer report than what comes after it`() throws {
    try withHistory { history in
      let (name, other) = (Name("edge-1")!, Name("edge-2")!)
      _ = try history.insert([record(100, received: 50), record(7, device: "edge-2", received: 50)])
      for kind in [HistoryRemark.Kind.noticed(.equivocation), .ended(.equivocation)] {
        _ = try history.add(HistoryRemark(device: name, at: 60, by: "monitor", kind: kind))
      }
      #expect(try history.newestReport(of: name, by: "k") == 100)
      _ = try history.add(HistoryRemark(device: name, at: 60, by: "ann", kind: .acknowledged(why: "put back")))
      #expect(try history.newestReport(of: name, by: "k") == nil)
      #expect(try history.newestReport(of: other, by: "k") == 7)
      _ = try history.insert([record(2, received: 70)])
      #expect(try history.newestReport(of: name, by: "k") == 2)
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

  @Test func `what an operator accepted is contradicted by nothing that comes after it`() throws {
    try withHistory { history in
      let name = Name("edge-1")!
      let first = try history.insert([record(1, received: 50), record(2, received: 50), record(3, received: 50)])
      #expect(first == [.inserted, .inserted, .inserted])
      let restored = try history.insert([record(1, digest: "e", received: 55)])
      #expect(restored == [.conflict])
      _ = try history.add(HistoryRemark(device: name, at: 60, by: "ann", kind: .acknowledged(why: "put back")))
      // Its numbers began anew; both messages are kept.
      let later = try history.insert([record(2, digest: "e", received: 70), record(3, digest: "e", received: 70)])
      #expect(later == [.inserted, .inserted])
      let again = try history.insert([record(2, digest: "e", received: 71)])
      #expect(again == [.duplicate])
      var open = try history.openBreaches()
      #expect(open.isEmpty)
      let kept = try history.records(of: name, limit: 10)
      #expect(kept.count == 6)
      // What came since is contradicted as ever.
      let second = try history.insert([record(2, digest: "f", received: 80), record(4, received: 80)])
      #expect(second == [.conflict, .inserted])
      let third = try history.insert([record(4, digest: "f", received: 81)])
      #expect(third == [.conflict])
      open = try history.openBreaches()
      #expect(open == [name: [.equivocation]])
      _ = try history.add(HistoryRemark(device: name, at: 90, by: "ann", kind: .acknowledged(why: "again")))
      open = try history.openBreaches()
      #expect(open.isEmpty)
    }
  }

  /// Somebody else holds the file for longer than one waits for it.
  @Test func `what could not be stored is stored by itself once it can be, contradictions too`() throws {
    try withHistory { history in
      let ledger = try HistoryLedger(history)
      let conflicts = Mutex(0)
      ledger.onConflict = { _ in conflicts.withLock { $0 += 1 } }
      let thread = try Thread.start("ledger") { ledger.run() }
      let other = try Database(path: path)
      try other.execute("BEGIN IMMEDIATE")
      for record in [record(1), record(1, digest: "e")] { ledger.put(record) }
      #expect(eventually(30_000) { ledger.trouble != nil })
      try other.execute("COMMIT")
      #expect(eventually(30_000) { ledger.trouble == nil && ledger.stored == 1 })
      #expect(conflicts.withLock { $0 } == 1)
      // And at the stop.
      try other.execute("BEGIN IMMEDIATE")
      ledger.put(record(2))
      #expect(eventually(30_000) { ledger.trouble != nil })
      ledger.stop()
      try other.execute("COMMIT")
      thread.join()
      let kept = try history.records(of: Name("edge-1")!, limit: 10)
      #expect(kept.count == 3)
      #expect(ledger.dropped == 0 && ledger.lost == 0)
    }
  }

  @Test(.enabled(if: SmallDisk.isPossible)) func `what a full disk did not take is stored once there is room`() throws {
    try SmallDisk.with(kilobytes: 1_024) { disk in
      let history = try SQLiteHistory(path: "\(disk.path)/history.db")
      let ledger = try HistoryLedger(history)
      let thread = try Thread.start("ledger") { ledger.run() }
      try disk.fill()
      for seq in Int64(1)...50 { ledger.put(record(seq, size: 10_000)) }
      #expect(eventually(30_000) { ledger.trouble != nil })
      disk.empty()
      #expect(eventually(30_000) { ledger.trouble == nil && ledger.stored == 50 })
      ledger.stop()
      thread.join()
    }
  }

  @Test func `what had to be dropped is declared in the history`() throws {
    try withHistory { history in
      let ledger = try HistoryLedger(history)
      let thread = try Thread.start("ledger") { ledger.run() }
      let other = try Database(path: path)
      try other.execute("BEGIN IMMEDIATE")
      let all: Int64 = 1_000
      for seq in 1...all { ledger.put(record(seq, device: seq == 1 ? "edge-1" : "edge-2", size: 50_000)) }
      #expect(eventually(30_000) { ledger.dropped > 1 })
      try other.execute("COMMIT")
      #expect(eventually(30_000) { ledger.trouble == nil })
      ledger.stop()
      thread.join()
      let dropped = ledger.dropped
      #expect(ledger.stored == Int(all) - dropped)
      #expect(try history.remarks(of: Name("edge-1")!, limit: 9).map(\.kind) == [.unstored(1)])
      #expect(try history.remarks(of: Name("edge-2")!, limit: 9).map(\.kind) == [.unstored(dropped - 1)])
      #expect(try history.records(of: Name("edge-2")!, limit: 1).first?.seq == all)
      // A remark, not a breach.
      #expect(try HistoryRemark.open(history.remarks(after: 0).remarks).isEmpty)
      _ = try history.prune(before: .max)
      #expect(try history.remarks(after: 0).remarks.isEmpty)
    }
  }

  @Test func `as much waits as there is room for, the newest of it`() {
    var backlog = Backlog()
    backlog.add((1...3).map { record($0, size: Backlog.most / 2 - 1_000) })
    #expect(backlog.trim() == 1)
    #expect(backlog.records.map(\.seq) == [2, 3] && backlog.dropped == [Name("edge-1")!: 1])
    #expect(backlog.trim() == 0)
    backlog.add([record(4, size: Backlog.most)])
    #expect(backlog.trim() == 3)
    #expect(backlog.records.isEmpty && !backlog.isEmpty)
    backlog.declare(Name("edge-1")!)
    #expect(backlog.isEmpty)
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

  @Test func `retention forgets the old ones only, and keeps since when the verdict is what it is`() throws {
    try withHistory { history in
      let name = Name("edge-1")!
      let verdicts: [Verdict] = [.pass, .fail, .pass, .pass, .pass, .fail, .fail]
      var reports = zip(Int64(1)..., verdicts).map { record($0, $1, received: $0 * 10) }
      reports.append(record(1, kind: .event, chain: "A", received: 10))
      reports.append(record(9, device: "edge-2", received: 80))
      _ = try history.insert(Array(reports.prefix(5)) + reports.suffix(2))
      // The current run is 3 to 5.
      #expect(try history.prune(before: 45) == 4)
      #expect(try history.records(of: name, limit: 10).map(\.seq) == [5, 3])
      #expect(try history.since(.pass, of: name)?.at == 3)
      #expect(try history.prune(before: 1_000) == 0)
      #expect(try history.since(.pass, of: name)?.at == 3)
      #expect(try history.newestReport(of: name, by: "k") == 5)
      // Another run begins, and the one before it may go.
      _ = try history.insert(Array(reports[5...6]))
      #expect(try history.prune(before: 1_000) == 2)
      #expect(try history.records(of: name, limit: 10).map(\.seq) == [7, 6])
      #expect(try history.since(.fail, of: name)?.at == 6)
      #expect(try history.records(of: Name("edge-2")!, limit: 10).map(\.seq) == [9])
    }
  }

  @Test func `since when a verdict is what it is goes by the order of arrival, not by the second`() throws {
    try withHistory { history in
      let name = Name("edge-1")!
      for (seq, verdict) in zip(Int64(1)..., [Verdict.pass, .fail, .pass, .pass, .unknown, .fail]) {
        _ = try history.insert([record(seq, verdict)])
        #expect(try history.since(verdict, of: name)?.at == (seq == 4 ? 3 : seq))
      }
      #expect(try history.since(.pass, of: name)?.at == nil)
      // A late event of the run before says nothing.
      _ = try history.insert([record(7, kind: .event, chain: "A")])
      #expect(try history.since(.fail, of: name)?.at == 6)
      #expect(try history.since(.fail, of: Name("edge-2")!)?.at == nil)
    }
  }

  @Test func `an acknowledgement stays as long as what it is about`() throws {
    try withHistory { history in
      let name = Name("edge-1")!
      _ = try history.insert([record(100, received: 10)])
      _ = try history.add(HistoryRemark(device: name, at: 20, by: "ann", kind: .acknowledged(why: "put back")))
      _ = try history.insert([record(2, received: 30)])
      _ = try history.prune(before: 1_000)
      // Both are of one run.
      #expect(try history.records(of: name, limit: 10).map(\.seq) == [2, 100])
      #expect(try history.newestReport(of: name, by: "k") == 2)
      _ = try history.insert([record(3, .fail, received: 40)])
      _ = try history.prune(before: 1_000)
      #expect(try history.remarks(after: 0).remarks.isEmpty)
    }
  }

  @Test func `credentials are kept as long as something was signed with their key, and come first`() throws {
    func credential(_ digest: String, kid: String = "k", device: String = "edge-1") -> HistoryRecord {
      var record = record(5, digest: digest, kind: .credential, chain: digest, device: device, received: 10)
      record.kid = kid
      return record
    }
    func exported(since: Int64 = 0, device: Name? = nil, _ history: SQLiteHistory) throws -> [String] {
      var seen: [String] = []
      try history.forEach(since: since, device: device) {
        seen.append($0.digest)
        return true
      }
      return seen
    }
    try withHistory { history in
      // A second one of the same second is another one, and contradicts nothing.
      let other = credential("c", kid: "x", device: "edge-2")
      let all = [record(1), credential("a"), credential("a"), credential("b"), other]
      let insertions = try history.insert(all)
      #expect(insertions == [.inserted, .inserted, .duplicate, .inserted, .inserted])
      #expect(try history.contradicted().isEmpty)
      #expect(try history.records(of: Name("edge-1")!, limit: 9).map(\.digest) == ["d"])
      #expect(try exported(history) == ["a", "b", "c", "d"])
      #expect(try exported(since: 1_000, history) == ["a", "b", "c"])
      #expect(try exported(since: 1_000, device: Name("edge-2"), history) == ["c"])
      #expect(try history.prune(before: 50) == 0)
      #expect(try exported(history) == ["a", "b", "d"])
      // The newest report stays, and with it its key.
      #expect(try history.prune(before: 1_000) == 0)
      #expect(try exported(history) == ["a", "b", "d"])
    }
  }

  /// Everything that is asked of it.
  private func read(_ history: SQLiteHistory) throws -> [String] {
    var seen = try history.records(of: Name("edge-1")!, limit: 9).map(\.digest)
    try history.forEach(since: 0, device: nil) {
      seen.append($0.digest)
      return true
    }
    _ = try (history.remarks(after: 0), history.contradicted(), history.trend(since: 0))
    return seen
  }

  @Test func `who only reads changes nothing, and sees what is being written`() throws {
    let folder = try Folder()
    let path = folder.file("a?b%20#c.db")
    let history = try SQLiteHistory(path: path)
    _ = try history.insert([record(1)])
    let reader = try SQLiteHistory.reading(path)
    #expect(try read(reader) == ["d", "d"])
    #expect(throws: HistoryError.self) { try reader.insert([record(2)]) }
    _ = try history.insert([record(2, digest: "e")])
    #expect(try read(reader) == ["e", "d", "d", "e"])
  }

  @Test(.enabled(if: SmallDisk.isPossible)) func `a history on a medium that cannot be written is read`() throws {
    try SmallDisk.with(kilobytes: 2_048) { disk in
      let path = "\(disk.path)/history.db"
      func write(_ seq: Int64) throws { _ = try SQLiteHistory(path: path).insert([record(seq)]) }
      try write(1)
      try disk.set(readOnly: true)
      #expect(try read(SQLiteHistory.reading(path)) == ["d", "d"])
      #expect(throws: HistoryError.self) { try SQLiteHistory.existing(path) }
      try disk.set(readOnly: false)
      // A log beside it that cannot be read without a file more: an error, not an answer without what it holds.
      try Home.write("a log", to: "\(path)-wal")
      try disk.set(readOnly: true)
      #expect(throws: HistoryError.self) { try read(SQLiteHistory.reading(path)) }
    }
  }

  @Test func `what is not a history is refused, and not written into`() throws {
    let folder = try Folder()
    let foreign = folder.file("foreign.db")
    do {
      let database = try Database(path: foreign)
      try database.execute("CREATE TABLE message (number INTEGER)")
    }
    let text = try folder.write("text.db", String(repeating: "no database ", count: 99))
    let files = [foreign, text, try folder.write("empty.db", "")]
    for file in files {
      let before = try AtomicFile.readAny(file)
      #expect(throws: HistoryError.self, "\(file)") { try SQLiteHistory.reading(file) }
      #expect(throws: HistoryError.self, "\(file)") { try SQLiteHistory.existing(file) }
      if !before.isEmpty { #expect(throws: HistoryError.self, "\(file)") { try SQLiteHistory(path: file) } }
      #expect(try AtomicFile.readAny(file) == before, "\(file)")
    }
    for path in ["/nowhere/at/all.db", folder.file("none.db"), folder.path] {
      #expect(throws: HistoryError.self, "\(path)") { try SQLiteHistory.reading(path) }
      #expect(throws: HistoryError.self, "\(path)") { try SQLiteHistory.existing(path) }
    }
    #expect(access(folder.file("none.db"), F_OK) != 0)
  }

  @Test func `a history of before is taken as it is`() throws {
    try withHistory { history in
      _ = try history.insert([record(1)])
      try Database(path: path).execute("DROP INDEX message_credential")
      #expect(try read(SQLiteHistory.reading(path)) == ["d", "d"])
      _ = try SQLiteHistory.existing(path).insert([record(2)])
      #expect(try read(SQLiteHistory.reading(path)).count == 4)
    }
  }

  private func event(_ number: Int64, gapFrom: Int64? = nil) -> HistoryRecord {
    let digest = String(repeating: "A", count: 43)
    let claims = EventClaims(
      issuer: Party(Name("site-a")!, Name("edge-1")!), issuedAt: 1_790_000_000, clock: .synced, chain: "chain-0001",
      number: number, previous: number == 1 ? nil : digest,
      body: gapFrom.map { .gap(first: $0, head: digest) } ?? (number == 1 ? .start(.enrolled) : .change(change)))
    var record = record(number, kind: .event, chain: gapFrom == nil ? "chain-0001" : "chain-0001#gap")
    record.token = Array("a.\(Base64URL.encode(Array(claims.claims.text.utf8))).c".utf8)
    return record
  }

  private var change: EventClaims.Change {
    EventClaims.Change(from: .pass, to: .fail, policy: "entry", report: 2, appeared: [], resolved: [], leftOut: 0)
  }

  @Test func `events that the history lacks are told where it is read`() throws {
    try withHistory { history in
      let name = Name("edge-1")!
      _ = try history.insert([event(1)])
      #expect(try history.gaps(of: name) == [])
      _ = try history.insert([event(4)])
      #expect(try history.gaps(of: name).map(\.events) == [[2...3]])
      // What the device declared lost is not missing, and what comes after all is neither.
      _ = try history.insert([event(7, gapFrom: 5), event(9)])
      #expect(try history.gaps(of: name).map(\.events) == [[2...3, 8...8]])
      let words = ["history", "edge-1", "--history", path]
      let said = try Command(Path.join(Repository.products, "posturectl"), words).run()
      let text = String(decoding: said.out, as: UTF8.self)
      #expect(text.contains("events not in the history: 2-3, 8 of chain chain-0001"))
      _ = try history.insert([event(2), event(3), event(8)])
      #expect(try history.gaps(of: name) == [])
      #expect(try history.gaps(of: Name("edge-2")!) == [])
    }
  }

  @Test func `a history that begins late lacks nothing before it`() throws {
    try withHistory { history in
      _ = try history.insert([event(30), event(31)])
      #expect(try history.gaps(of: Name("edge-1")!) == [])
    }
  }

  @Test func `what is lost at the end is known`() throws {
    try withHistory { history in
      let ledger = try HistoryLedger(history)
      let thread = try Thread.start("ledger") { ledger.run() }
      let other = try Database(path: path)
      try other.execute("BEGIN IMMEDIATE")
      for seq in Int64(1)...2 { ledger.put(record(seq)) }
      #expect(eventually(30_000) { ledger.trouble != nil })
      ledger.stop()
      thread.join()
      #expect(ledger.lost == 2 && ledger.dropped == 2)
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
