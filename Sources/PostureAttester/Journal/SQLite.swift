import CSQLite

/// Why the database does not do what it should.
struct SQLiteError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Primary result code (https://www.sqlite.org/rescode.html).
  let code: Int32
  let why: String

  /// Another process has the file.
  var isBusy: Bool { code == SQLITE_BUSY || code == SQLITE_LOCKED }
  var isReadOnly: Bool { code == SQLITE_READONLY }
  /// What is in the file is not what was written; everything but the file system's own refusals.
  var isDamage: Bool {
    ![SQLITE_FULL, SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH, SQLITE_INTERRUPT].contains(code)
      && !isBusy && !isReadOnly
  }

  var description: String { "journal: \(why)" }
}

/// One file of text keys and values, changed in transactions that are on the disk when they return.
///
/// Used by one thread.
final class SQLiteStore {
  struct Entry: Hashable, Sendable {
    var value: String
    /// Checksum of key and value as it was written.
    var check: String
  }

  private var handle: OpaquePointer?

  /// Opens or makes the file and takes it for this process alone.
  init(path: String) throws(SQLiteError) {
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX
    try check(sqlite3_open_v2(path, &handle, flags, nil))
    // With exclusive locking the write-ahead log needs no shared memory file.
    try execute("PRAGMA locking_mode = EXCLUSIVE")
    try execute("PRAGMA journal_mode = WAL")
    // A commit returns after fsync of the log.
    try execute("PRAGMA synchronous = FULL")
    try execute("PRAGMA cell_size_check = ON")
    try execute("PRAGMA trusted_schema = OFF")
    try execute("PRAGMA journal_size_limit = 262144")
    try execute(
      "CREATE TABLE IF NOT EXISTS entry (key TEXT PRIMARY KEY, value TEXT NOT NULL, sum TEXT NOT NULL) WITHOUT ROWID")
  }

  deinit { sqlite3_close_v2(handle) }

  /// False where the file's structure is damaged.
  func isSound() throws(SQLiteError) -> Bool {
    try query("PRAGMA integrity_check(1)") == [["ok"]]
  }

  func entries() throws(SQLiteError) -> [String: Entry] {
    var entries: [String: Entry] = [:]
    for row in try query("SELECT key, value, sum FROM entry") { entries[row[0]] = Entry(value: row[1], check: row[2]) }
    return entries
  }

  /// Writes and removes all of it, or nothing.
  func commit(put: [String: Entry], remove: some Sequence<String>) throws(SQLiteError) {
    try execute("BEGIN IMMEDIATE")
    do throws(SQLiteError) {
      for (key, entry) in put {
        _ = try query("INSERT OR REPLACE INTO entry VALUES (?, ?, ?)", [key, entry.value, entry.check])
      }
      for key in remove { _ = try query("DELETE FROM entry WHERE key = ?", [key]) }
      try execute("COMMIT")
    } catch {
      // After some failures SQLite has rolled back by itself; then this one fails, and nothing is open either way.
      try? execute("ROLLBACK")
      throw error
    }
  }

  private func execute(_ sql: String) throws(SQLiteError) { _ = try query(sql) }

  private func query(_ sql: String, _ values: [String] = []) throws(SQLiteError) -> [[String]] {
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v2(handle, sql, -1, &statement, nil))
    defer { sqlite3_finalize(statement) }
    for (index, value) in values.enumerated() {
      try check(sqlite3_bind_text(statement, Int32(index + 1), value, Int32(value.utf8.count), Self.copied))
    }
    var rows: [[String]] = []
    while true {
      let result = sqlite3_step(statement)
      if result == SQLITE_DONE { return rows }
      guard result == SQLITE_ROW else { throw failure(result) }
      rows.append((0..<sqlite3_column_count(statement)).map { Self.text(statement, $0) })
    }
  }

  private static func text(_ statement: OpaquePointer?, _ column: Int32) -> String {
    guard let start = sqlite3_column_text(statement, column) else { return "" }
    let count = Int(sqlite3_column_bytes(statement, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  private func check(_ result: Int32) throws(SQLiteError) {
    guard result == SQLITE_OK else { throw failure(result) }
  }

  private func failure(_ result: Int32) -> SQLiteError {
    let words = handle.flatMap { sqlite3_errmsg($0) } ?? sqlite3_errstr(result)
    return SQLiteError(code: result & 0xFF, why: words.map { String(cString: $0) } ?? "error \(result)")
  }

  /// SQLITE_TRANSIENT: the library takes a copy.
  private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}
