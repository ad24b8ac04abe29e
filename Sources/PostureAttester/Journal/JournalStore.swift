package import PostureSQLite

/// One file of text keys and values, changed in transactions that are on the disk when they return.
///
/// Used by one thread.
package final class JournalStore {
  package struct Entry: Hashable, Sendable {
    package var value: String
    /// Checksum of key and value as it was written.
    package var check: String

    package init(value: String, check: String) {
      self.value = value
      self.check = check
    }
  }

  private let database: Database
  private let put: Statement
  private let remove: Statement

  /// Opens or makes the file and takes it for this process alone.
  package init(path: String) throws(SQLiteError) {
    database = try Database(path: path)
    // With exclusive locking the write-ahead log needs no shared memory file; a commit returns after fsync of the log.
    try database.execute(
      """
      PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
      PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 262144;
      CREATE TABLE IF NOT EXISTS entry (key TEXT PRIMARY KEY, value TEXT NOT NULL, sum TEXT NOT NULL) WITHOUT ROWID
      """)
    try database.checkWritable()
    put = try database.prepare("INSERT OR REPLACE INTO entry VALUES (?, ?, ?)")
    remove = try database.prepare("DELETE FROM entry WHERE key = ?")
  }

  /// False where the file's structure is damaged.
  func isSound() throws(SQLiteError) -> Bool {
    var answers: [String?] = []
    try database.prepare("PRAGMA integrity_check(1)").run { row in
      answers.append(row.text(0))
      return true
    }
    return answers == ["ok"]
  }

  func entries() throws(SQLiteError) -> [String: Entry] {
    var entries: [String: Entry] = [:]
    try database.prepare("SELECT key, value, sum FROM entry").run { row in
      entries[row.text(0) ?? ""] = Entry(value: row.text(1) ?? "", check: row.text(2) ?? "")
      return true
    }
    return entries
  }

  /// Writes and removes all of it, or nothing.
  package func commit(put entries: [String: Entry], remove keys: some Sequence<String>) throws(SQLiteError) {
    try database.transaction { () throws(SQLiteError) in
      for (key, entry) in entries { try put.run([.text(key), .text(entry.value), .text(entry.check)]) }
      for key in keys { try remove.run([.text(key)]) }
    }
  }
}
