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
  /// Never by a question mark: for an index of some kinds only, SQLite would plan a statement anew with each value.
  static func isOf(_ kind: TokenKind) -> String { "typ = '\(kind.rawValue)'" }
  static let isCredential = isOf(.credential)
  static let schema = """
    CREATE TABLE IF NOT EXISTS message (\(messageColumns), UNIQUE (kid, typ, chain, seq));
    CREATE TABLE IF NOT EXISTS contradiction (\(messageColumns), UNIQUE (kid, typ, chain, seq, digest));
    CREATE VIEW IF NOT EXISTS everything AS SELECT * FROM message UNION ALL SELECT * FROM contradiction;
    CREATE INDEX IF NOT EXISTS message_device ON message (device, received);
    CREATE INDEX IF NOT EXISTS message_verdict ON message (device, typ, verdict, received);
    CREATE INDEX IF NOT EXISTS message_received ON message (received);
    CREATE INDEX IF NOT EXISTS message_credential ON message (device, seq) WHERE \(isCredential);
    CREATE TABLE IF NOT EXISTS trend (
      at INTEGER NOT NULL, standing TEXT NOT NULL, count INTEGER NOT NULL, UNIQUE (at, standing));
    CREATE TABLE IF NOT EXISTS remark (
      number INTEGER PRIMARY KEY AUTOINCREMENT, device TEXT NOT NULL, at INTEGER NOT NULL, by TEXT NOT NULL,
      what TEXT NOT NULL, chain TEXT NOT NULL, text TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS remark_device ON remark (device, number);
    """
  private static let columns = "device, kid, typ, chain, seq, digest, issued, received, verdict, token"

  let database: Database
  private let add: Statement
  private let addContradiction: Statement
  /// By the kind of message.
  private let digest: [TokenKind: Statement]
  /// Whether the contradiction that was added last is one that nobody has accepted.
  private let isOpen: Statement
  /// The last report of a verdict, and the first after another: asked for every device of a fleet at once, so each is
  /// one look into an index.
  private let last: Statement
  private let first: Statement
  private let newest: Statement

  init(_ database: Database) throws(HistoryError) {
    self.database = database
    do throws(SQLiteError) {
      let insert = "(\(Self.columns)) VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING"
      add = try database.prepare("INSERT INTO message \(insert)")
      addContradiction = try database.prepare("INSERT INTO contradiction \(insert)")
      let ofVerdict = "rowid FROM message WHERE device = ?1 AND \(Self.isOf(.report)) AND verdict = ?2"
      last = try database.prepare("SELECT received, \(ofVerdict) ORDER BY received DESC, rowid DESC LIMIT 1")
      let isSeen = """
        EXISTS (SELECT 1 FROM message earlier WHERE earlier.kid = message.kid AND earlier.typ = message.typ
          AND earlier.chain = '' AND earlier.seq = message.seq - 1)
        """
      first = try database.prepare(
        "SELECT issued, \(isSeen), \(ofVerdict) AND (received, rowid) > (?3, ?4) ORDER BY received, rowid LIMIT 1")
      // The pluses leave it to the index of (kid, typ, chain, seq), whose last row it mostly is.
      newest = try database.prepare(
        """
        SELECT MAX(seq) FROM message WHERE kid = ?1 AND \(Self.isOf(.report)) AND chain = '' AND +device = ?2
          AND +received > \(Self.accepted("?2"))
        """)
      var digest: [TokenKind: Statement] = [:]
      for kind in [TokenKind.report, .event, .credential] {
        digest[kind] = try database.prepare(
          "SELECT digest FROM message WHERE kid = ? AND \(Self.isOf(kind)) AND chain = ? AND seq = ?")
      }
      self.digest = digest
      isOpen = try database.prepare(
        "SELECT 1 FROM contradiction new WHERE rowid = last_insert_rowid() AND \(Self.contradictsUnaccepted)")
    } catch { throw HistoryError(error) }
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
    try digest[record.kind]?.run([.text(record.kid), .text(record.chain), .integer(record.seq)]) {
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
    if database.changes == 0 { return .duplicate }
    var result = Insertion.inserted
    try isOpen.run([]) { _ in
      result = .conflict
      return false
    }
    return result
  }

  public func records(of device: Name, limit: Int) throws(HistoryError) -> [HistoryRecord] {
    let order = "ORDER BY received DESC, issued DESC, seq DESC LIMIT ?"
    var records: [HistoryRecord] = []
    try select(
      "WHERE device = ? AND NOT \(Self.isCredential) \(order)", [.text(device.description), .integer(Int64(limit))]
    ) {
      records.append($0)
      return true
    }
    return records
  }

  public func gaps(of device: Name) throws(HistoryError) -> [HistoryGap] {
    func all(_ kind: TokenKind, _ order: String) throws(HistoryError) -> [HistoryRecord] {
      var records: [HistoryRecord] = []
      try select("WHERE device = ? AND \(Self.isOf(kind)) \(order)", [.text(device.description)]) {
        records.append($0)
        return true
      }
      return records
    }
    let report = try all(.report, "ORDER BY received DESC, seq DESC LIMIT 1").first
    return HistoryGap.all(in: try all(.event, ""), report: report)
  }

  public func since(_ verdict: Verdict, of device: Name) throws(HistoryError) -> (at: Int64, isSeen: Bool)? {
    do throws(SQLiteError) {
      let name = device.description
      return try beginning(of: verdict, name, after: lastReports(of: name)).map { ($0.issued, $0.isSeen) }
    } catch { throw HistoryError(error) }
  }

  /// The place of a message in the order of arrival: many come in one second.
  struct Arrival: Comparable {
    var received: Int64
    var row: Int64

    static func < (left: Self, right: Self) -> Bool { (left.received, left.row) < (right.received, right.row) }
  }

  /// The last report of each verdict.
  func lastReports(of device: String) throws(SQLiteError) -> [Verdict: Arrival] {
    var reports: [Verdict: Arrival] = [:]
    for verdict in Verdict.allCases {
      try last.run([.text(device), .text(verdict.rawValue)]) { row in
        reports[verdict] = Arrival(received: row.integer(0), row: row.integer(1))
        return false
      }
    }
    return reports
  }

  /// The first report of the latest run of a verdict.
  func beginning(
    of verdict: Verdict, _ device: String, after reports: [Verdict: Arrival]
  ) throws(SQLiteError) -> (issued: Int64, isSeen: Bool, row: Int64)? {
    let before = reports.filter { $0.key != verdict }.values.max() ?? Arrival(received: -1, row: -1)
    var first: (issued: Int64, isSeen: Bool, row: Int64)?
    try self.first.run([
      .text(device), .text(verdict.rawValue), .integer(before.received), .integer(before.row),
    ]) { row in
      first = (row.integer(0), row.integer(1) == 1, row.integer(2))
      return false
    }
    return first
  }

  public func newestReport(of device: Name, by kid: String) throws(HistoryError) -> Int64? {
    var number: Int64 = 0
    do throws(SQLiteError) {
      try newest.run([.text(kid), .text(device.description)]) { row in
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
    let device: Statement.Value = device.map { .text($0.description) } ?? .null
    let isOfDevice = "(?1 IS NULL OR device = ?1)"
    var goesOn = true
    try select("WHERE \(Self.isCredential) AND \(isOfDevice) ORDER BY device, seq", [device]) {
      goesOn = body($0)
      return goesOn
    }
    guard goesOn else { return }
    try select(
      "WHERE NOT \(Self.isCredential) AND \(isOfDevice) AND received >= ?2 ORDER BY received, issued, seq",
      [device, .integer(since)], body)
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
