import Glibc
public import Posture
import PosturePlatform
import PostureSQLite

/// The history in one SQLite file, 0600.
public final class SQLiteHistory: HistoryStore, @unchecked Sendable {
  // One connection without a lock of its own: its owner uses it from one thread at a time (``HistoryLedger``).

  private static let schema = """
    CREATE TABLE IF NOT EXISTS message (
      kid TEXT NOT NULL, typ TEXT NOT NULL, chain TEXT NOT NULL, seq INTEGER NOT NULL,
      device TEXT NOT NULL, digest TEXT NOT NULL, issued INTEGER NOT NULL, received INTEGER NOT NULL,
      verdict TEXT, token TEXT NOT NULL, UNIQUE (kid, typ, chain, seq));
    CREATE INDEX IF NOT EXISTS message_device ON message (device, received);
    CREATE INDEX IF NOT EXISTS message_received ON message (received);
    CREATE TABLE IF NOT EXISTS trend (
      at INTEGER NOT NULL, standing TEXT NOT NULL, count INTEGER NOT NULL, UNIQUE (at, standing));
    """
  private static let columns = "device, kid, typ, chain, seq, digest, issued, received, verdict, token"

  private let database: Database
  private let add: Statement
  private let digest: Statement

  public init(path: String) throws(HistoryError) {
    do throws(SQLiteError) {
      database = try Database(path: path)
      database.wait(atMost: 5_000)
      try database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
      try database.execute(Self.schema)
      add = try database.prepare(
        "INSERT INTO message (\(Self.columns)) VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING")
      digest = try database.prepare("SELECT digest FROM message WHERE kid = ? AND typ = ? AND chain = ? AND seq = ?")
    } catch { throw HistoryError(error) }
  }

  /// One that is there already: a wrong path is an error and makes no file.
  public static func existing(_ path: String) throws(HistoryError) -> SQLiteHistory {
    guard access(path, R_OK | W_OK) == 0 else {
      throw HistoryError(description: "\(path): \(SystemError.current("open").reason)")
    }
    return try SQLiteHistory(path: path)
  }

  public func insert(_ records: [HistoryRecord]) throws(HistoryError) -> [Insertion] {
    do throws(SQLiteError) {
      return try database.transaction { () throws(SQLiteError) in
        var results: [Insertion] = []
        for record in records { results.append(try insert(record)) }
        return results
      }
    } catch { throw HistoryError(error) }
  }

  private func insert(_ record: HistoryRecord) throws(SQLiteError) -> Insertion {
    try add.run([
      .text(record.device.description), .text(record.kid), .text(record.kind.rawValue), .text(record.chain),
      .integer(record.seq), .text(record.digest), .integer(record.issued), .integer(record.received),
      record.verdict.map { .text($0.rawValue) } ?? .null, .text(record.token),
    ])
    if database.changes == 1 { return .inserted }
    var isSame = false
    try digest.run([.text(record.kid), .text(record.kind.rawValue), .text(record.chain), .integer(record.seq)]) {
      isSame = $0.text(0) == record.digest
      return false
    }
    return isSame ? .duplicate : .conflict
  }

  public func records(of device: Name, limit: Int) throws(HistoryError) -> [HistoryRecord] {
    let order = "ORDER BY received DESC, issued DESC, seq DESC LIMIT ?"
    var records: [HistoryRecord] = []
    try select("WHERE device = ? \(order)", [.text(device.description), .integer(Int64(limit))]) {
      records.append($0)
      return true
    }
    return records
  }

  public func since(_ verdict: Verdict, of device: Name) throws(HistoryError) -> Int64? {
    var since: Int64?
    do throws(SQLiteError) {
      try database.prepare(
        """
        SELECT MIN(issued), COUNT(*) FROM message WHERE device = ?1 AND typ = ?2 AND verdict = ?3 AND received >
          COALESCE((SELECT MAX(received) FROM message WHERE device = ?1 AND typ = ?2 AND verdict <> ?3), -1)
        """
      ).run([.text(device.description), .text(TokenKind.report.rawValue), .text(verdict.rawValue)]) { row in
        since = row.integer(1) > 0 ? row.integer(0) : nil
        return false
      }
    } catch { throw HistoryError(error) }
    return since
  }

  public func add(_ sample: TrendSample) throws(HistoryError) {
    do throws(SQLiteError) {
      try database.transaction { () throws(SQLiteError) in
        let statement = try database.prepare("INSERT OR REPLACE INTO trend VALUES (?,?,?)")
        for (standing, count) in sample.counts {
          try statement.run([.integer(sample.at), .text(standing), .integer(Int64(count))])
        }
      }
    } catch { throw HistoryError(error) }
  }

  public func trend(since: Int64) throws(HistoryError) -> [TrendSample] {
    var samples: [TrendSample] = []
    do throws(SQLiteError) {
      try database.prepare("SELECT at, standing, count FROM trend WHERE at >= ? ORDER BY at").run([.integer(since)]) {
        if samples.last?.at != $0.integer(0) { samples.append(TrendSample(at: $0.integer(0), counts: [:])) }
        samples[samples.count - 1].counts[$0.text(1) ?? ""] = Int($0.integer(2))
        return true
      }
    } catch { throw HistoryError(error) }
    return samples
  }

  public func forEach(
    since: Int64, device: Name?, _ body: (HistoryRecord) -> Bool
  ) throws(HistoryError) {
    try select(
      "WHERE received >= ?1 AND (?2 IS NULL OR device = ?2) ORDER BY received, rowid",
      [.integer(since), device.map { .text($0.description) } ?? .null], body)
  }

  private func select(
    _ clauses: String, _ values: [Statement.Value], _ body: (HistoryRecord) -> Bool
  ) throws(HistoryError) {
    do throws(SQLiteError) {
      try database.prepare("SELECT \(Self.columns) FROM message \(clauses)").run(values) { row in
        Self.record(row).map(body) ?? true
      }
    } catch { throw HistoryError(error) }
  }

  public func prune(before: Int64) throws(HistoryError) -> Int {
    do throws(SQLiteError) {
      try database.prepare("DELETE FROM trend WHERE at < ?").run([.integer(before)])
      try database.prepare("DELETE FROM message WHERE received < ?").run([.integer(before)])
      return database.changes
    } catch { throw HistoryError(error) }
  }

  /// nil for a row that this version did not write.
  private static func record(_ row: borrowing Row) -> HistoryRecord? {
    guard let device = row.text(0).flatMap(Name.init), let kid = row.text(1),
      let kind = row.text(2).flatMap(TokenKind.init(rawValue:)), let chain = row.text(3), let digest = row.text(5),
      let token = row.text(9)
    else { return nil }
    return HistoryRecord(
      device: device, kid: kid, kind: kind, chain: chain, seq: row.integer(4), digest: digest,
      issued: row.integer(6), received: row.integer(7), verdict: row.text(8).flatMap(Verdict.init(rawValue:)),
      token: token)
  }
}

extension HistoryError {
  init(_ error: SQLiteError) { self.init(description: "history: \(error)") }
}
