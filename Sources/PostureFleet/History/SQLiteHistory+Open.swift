import Glibc
public import Posture
import PosturePlatform
import PostureSQLite

extension SQLiteHistory {
  /// Milliseconds to wait for another process that has the file.
  private static let patience: Int32 = 5_000

  /// To be written to, and made where there is none.
  public convenience init(path: String) throws(HistoryError) { try self.init(Self.open(path, orMake: true)) }

  /// One that is there already: a wrong path is an error and makes no file.
  public static func existing(_ path: String) throws(HistoryError) -> SQLiteHistory {
    try check(path, R_OK | W_OK)
    return try SQLiteHistory(open(path, orMake: false))
  }

  /// The same only to look into it, on a medium that cannot be written too.
  public static func reading(_ path: String) throws(HistoryError) -> SQLiteHistory {
    try check(path, R_OK)
    let database: Database?
    do throws(SQLiteError) {
      let file = try Database(reading: path, isImmutable: isImmutable(path))
      file.wait(atMost: patience)
      database = try isHistory(file) ? file : nil
    } catch { throw HistoryError(error) }
    guard let database else { throw notHistory(path) }
    return try SQLiteHistory(database)
  }

  private static func open(_ path: String, orMake: Bool) throws(HistoryError) -> Database {
    do throws(SQLiteError) {
      let database = try Database(path: path)
      database.wait(atMost: patience)
      let (isHistory, isEmpty) = (try isHistory(database), try count("sqlite_master", in: database) == 0)
      if isHistory || orMake && isEmpty {
        try database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        try database.transaction { () throws(SQLiteError) in try database.execute(schema) }
        return database
      }
    } catch { throw HistoryError(error) }
    throw notHistory(path)
  }

  private static func check(_ path: String, _ mode: Int32) throws(HistoryError) {
    guard access(path, mode) == 0 else {
      throw HistoryError(description: "\(path): \(SystemError.current("open").reason)")
    }
  }

  private static func notHistory(_ path: String) -> HistoryError {
    HistoryError(description: "\(path): not a history")
  }

  /// Somebody else's file is not written into.
  private static func isHistory(_ database: Database) throws(SQLiteError) -> Bool {
    let columns = ["kid", "typ", "chain", "seq", "device", "digest", "issued", "received", "verdict", "token"]
    let names = columns.map { "'\($0)'" }.joined(separator: ", ")
    return try count("pragma_table_info('message') WHERE name IN (\(names))", in: database) == columns.count
  }

  private static func count(_ rows: String, in database: Database) throws(SQLiteError) -> Int {
    var count = 0
    try database.prepare("SELECT COUNT(*) FROM \(rows)").run { row in
      count = Int(row.integer(0))
      return false
    }
    return count
  }

  /// Where SQLite can make no files beside it, it has to be told that nobody changes this one. With a log beside it that
  /// would be wrong: what the log holds would be missing without a word.
  private static func isImmutable(_ path: String) -> Bool {
    var log = stat()
    let hasLog = stat("\(path)-wal", &log) == 0 && log.st_size > 0
    return !hasLog && access(Path.folder(of: path), W_OK) != 0
  }

  /// What waits for an operator by the history that a monitor keeps in the folder; nothing where none does. A history
  /// that cannot be read is an error: what is open must not look like a pass.
  public static func openBreaches(in home: Home) throws(HistoryError) -> [Name: [OpenBreach]] {
    let path = home.path(Home.File.history)
    if access(path, F_OK) != 0, errno == ENOENT { return [:] }
    return try reading(path).openBreaches()
  }
}
