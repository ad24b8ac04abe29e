import Glibc
public import Posture
import PosturePlatform
import PostureSQLite

/// The history in one SQLite file, 0600.
public final class SQLiteHistory: HistoryStore, @unchecked Sendable {
  // One connection without a lock of its own: its owner uses it from one thread at a time (``HistoryLedger``).

  private static let messageColumns = """
      kid TEXT NOT NULL, typ TEXT NOT NULL, chain TEXT NOT NULL, seq INTEGER NOT NULL,
      device TEXT NOT NULL, digest TEXT NOT NULL, issued INTEGER NOT NULL, received INTEGER NOT NULL,
      verdict TEXT, token TEXT NOT NULL
    """
  private static let schema = """
    CREATE TABLE IF NOT EXISTS message (\(messageColumns), UNIQUE (kid, typ, chain, seq));
    CREATE TABLE IF NOT EXISTS contradiction (\(messageColumns), UNIQUE (kid, typ, chain, seq, digest));
    CREATE VIEW IF NOT EXISTS everything AS SELECT * FROM message UNION ALL SELECT * FROM contradiction;
    CREATE INDEX IF NOT EXISTS message_device ON message (device, received);
    CREATE INDEX IF NOT EXISTS message_verdict ON message (device, typ, verdict, received);
    CREATE INDEX IF NOT EXISTS message_received ON message (received);
    CREATE TABLE IF NOT EXISTS trend (
      at INTEGER NOT NULL, standing TEXT NOT NULL, count INTEGER NOT NULL, UNIQUE (at, standing));
    CREATE TABLE IF NOT EXISTS remark (
      number INTEGER PRIMARY KEY AUTOINCREMENT, device TEXT NOT NULL, at INTEGER NOT NULL, by TEXT NOT NULL,
      what TEXT NOT NULL, chain TEXT NOT NULL, text TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS remark_device ON remark (device, number);
    """
  private static let columns = "device, kid, typ, chain, seq, digest, issued, received, verdict, token"

  private let database: Database
  private let add: Statement
  private let addContradiction: Statement
  private let digest: Statement
  /// The first report of the latest run of a verdict: asked for every device of a fleet at once, so each part is one
  /// look into an index.
  private let first: Statement
  private let newest: Statement

  /// `isReadOnly`: it has to be there, and nothing can be stored.
  public init(path: String, isReadOnly: Bool = false) throws(HistoryError) {
    do throws(SQLiteError) {
      database = try Database(path: path, isReadOnly: isReadOnly)
      database.wait(atMost: 5_000)
      if !isReadOnly {
        try database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        try database.execute(Self.schema)
      }
      let insert = "(\(Self.columns)) VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING"
      add = try database.prepare("INSERT INTO message \(insert)")
      addContradiction = try database.prepare("INSERT INTO contradiction \(insert)")
      let last = "COALESCE((SELECT MAX(received) FROM message WHERE device = ?1 AND typ = ?2 AND verdict ="
      first = try database.prepare(
        """
        SELECT issued, EXISTS (SELECT 1 FROM message earlier WHERE earlier.kid = message.kid
          AND earlier.typ = ?2 AND earlier.chain = '' AND earlier.seq = message.seq - 1) FROM message WHERE device = ?1 AND typ = ?2 AND verdict = ?3
          AND received > MAX(\(last) ?4), -1), \(last) ?5), -1)) ORDER BY received, issued LIMIT 1
        """)
      newest = try database.prepare(
        "SELECT MAX(seq) FROM message WHERE kid = ?1 AND typ = ?2 AND chain = '' AND device = ?3")
      digest = try database.prepare("SELECT digest FROM message WHERE kid = ? AND typ = ? AND chain = ? AND seq = ?")
    } catch { throw HistoryError(error) }
  }

  /// One that is there already: a wrong path is an error and makes no file.
  public static func existing(_ path: String, isReadOnly: Bool = false) throws(HistoryError) -> SQLiteHistory {
    guard access(path, isReadOnly ? R_OK : R_OK | W_OK) == 0 else {
      throw HistoryError(description: "\(path): \(SystemError.current("open").reason)")
    }
    return try SQLiteHistory(path: path, isReadOnly: isReadOnly)
  }

  /// What waits for an operator by the history that a monitor keeps in the folder; nothing where none does. A history
  /// that cannot be read is an error: what is open must not look like a pass.
  public static func openBreaches(in home: Home) throws(HistoryError) -> [Name: [OpenBreach]] {
    let path = home.path(Home.File.history)
    if access(path, F_OK) != 0, errno == ENOENT { return [:] }
    return try existing(path, isReadOnly: true).openBreaches()
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
    // After a restart nearly all are duplicates: the broker has kept what was stored before.
    var known: Bool?
    try digest.run([.text(record.kid), .text(record.kind.rawValue), .text(record.chain), .integer(record.seq)]) {
      known = $0.text(0) == record.digest
      return false
    }
    if known == true { return .duplicate }
    let values: [Statement.Value] = [
      .text(record.device.description), .text(record.kid), .text(record.kind.rawValue), .text(record.chain),
      .integer(record.seq), .text(record.digest), .integer(record.issued), .integer(record.received),
      record.verdict.map { .text($0.rawValue) } ?? .null, .utf8(record.token),
    ]
    if known == nil {
      try add.run(values)
      return .inserted
    }
    try addContradiction.run(values)
    return database.changes == 1 ? .conflict : .duplicate
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

  public func since(_ verdict: Verdict, of device: Name) throws(HistoryError) -> (at: Int64, isSeen: Bool)? {
    var since: (Int64, Bool)?
    let others = Verdict.allCases.filter { $0 != verdict }.map(\.rawValue)
    do throws(SQLiteError) {
      try first.run([
        .text(device.description), .text(TokenKind.report.rawValue), .text(verdict.rawValue), .text(others[0]),
        .text(others[1]),
      ]) { row in
        since = (row.integer(0), row.integer(1) == 1)
        return false
      }
    } catch { throw HistoryError(error) }
    return since
  }

  public func newestReport(of device: Name, by kid: String) throws(HistoryError) -> Int64? {
    var number: Int64 = 0
    do throws(SQLiteError) {
      try newest.run([.text(kid), .text(TokenKind.report.rawValue), .text(device.description)]) { row in
        number = row.integer(0)
        return false
      }
    } catch { throw HistoryError(error) }
    // Numbers begin with 1; SQLite's greatest of none is NULL, which reads as 0.
    return number > 0 ? number : nil
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
      "WHERE received >= ?1 AND (?2 IS NULL OR device = ?2) ORDER BY received, issued, seq",
      [.integer(since), device.map { .text($0.description) } ?? .null], body)
  }

  private func select(
    _ clauses: String, _ values: [Statement.Value], _ body: (HistoryRecord) -> Bool
  ) throws(HistoryError) {
    do throws(SQLiteError) {
      try database.prepare("SELECT \(Self.columns) FROM everything \(clauses)").run(values) { row in
        Self.record(row).map(body) ?? true
      }
    } catch { throw HistoryError(error) }
  }

  public func prune(before: Int64) throws(HistoryError) -> Int {
    do throws(SQLiteError) {
      try database.prepare("DELETE FROM trend WHERE at < ?").run([.integer(before)])
      // A breach that was accepted or is over goes with what ended it; an open one stays.
      try database.prepare(
        """
        DELETE FROM remark WHERE at < ?1 AND number IN (SELECT early.number FROM remark early JOIN remark late ON
          late.device = early.device AND late.number > early.number AND late.at < ?1
          AND late.what IN (?2, early.what || ' over'))
        """
      ).run([.integer(before), .text(HistoryRemark.acknowledged)])
      try database.prepare("DELETE FROM remark WHERE at < ? AND (what = ? OR what LIKE '% over')").run([
        .integer(before), .text(HistoryRemark.acknowledged),
      ])
      try database.prepare("DELETE FROM contradiction WHERE received < ?").run([.integer(before)])
      try database.prepare("DELETE FROM message WHERE received < ?").run([.integer(before)])
      return database.changes
    } catch { throw HistoryError(error) }
  }

  // MARK: Remarks

  public func add(_ remark: HistoryRemark) throws(HistoryError) -> Int64 {
    let row = remark.row
    var number: Int64 = 0
    do throws(SQLiteError) {
      try database.prepare(
        "INSERT INTO remark (device, at, by, what, chain, text) VALUES (?,?,?,?,?,?) RETURNING number"
      ).run([
        .text(remark.device.description), .integer(remark.at), .text(remark.by), .text(row.what), .text(row.chain),
        .text(row.text),
      ]) {
        number = $0.integer(0)
        return true
      }
    } catch { throw HistoryError(error) }
    return number
  }

  public func remarks(after number: Int64) throws(HistoryError) -> (remarks: [HistoryRemark], last: Int64) {
    var last = number
    let remarks = try remarks("WHERE number > ? ORDER BY number", [.integer(number)]) { last = $0 }
    return (remarks, last)
  }

  public func contradicted() throws(HistoryError) -> [Name: Int64] {
    var devices: [Name: Int64] = [:]
    do throws(SQLiteError) {
      try database.prepare("SELECT device, MAX(received) FROM contradiction GROUP BY device").run([]) { row in
        if let name = row.text(0).flatMap({ Name($0) }) { devices[name] = row.integer(1) }
        return true
      }
    } catch { throw HistoryError(error) }
    return devices
  }

  public func remarks(of device: Name, limit: Int) throws(HistoryError) -> [HistoryRemark] {
    try remarks(
      "WHERE device = ? ORDER BY number DESC LIMIT ?", [.text(device.description), .integer(Int64(limit))])
  }

  private func remarks(
    _ clauses: String, _ values: [Statement.Value], _ seen: (Int64) -> Void = { _ in }
  ) throws(HistoryError) -> [HistoryRemark] {
    var remarks: [HistoryRemark] = []
    do throws(SQLiteError) {
      try database.prepare("SELECT number, device, at, by, what, chain, text FROM remark \(clauses)").run(values) {
        row in
        seen(row.integer(0))
        if let remark = Self.remark(row) { remarks.append(remark) }
        return true
      }
    } catch { throw HistoryError(error) }
    return remarks
  }

  /// nil for a row that this version did not write.
  private static func remark(_ row: borrowing Row) -> HistoryRemark? {
    guard let device = row.text(1).flatMap(Name.init), let by = row.text(3), let what = row.text(4),
      let chain = row.text(5), let text = row.text(6),
      let kind = HistoryRemark.kind(what: what, chain: chain, text: text)
    else { return nil }
    return HistoryRemark(device: device, at: row.integer(2), by: by, kind: kind)
  }

  /// nil for a row that this version did not write.
  private static func record(_ row: borrowing Row) -> HistoryRecord? {
    guard let device = row.text(0).flatMap(Name.init), let kid = row.text(1),
      let kind = row.text(2).flatMap(TokenKind.init(rawValue:)), let chain = row.text(3), let digest = row.text(5),
      let token = row.bytes(9)
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
