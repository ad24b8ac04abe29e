import CSQLite
import Glibc

/// One connection to a file of libsqlite3.
///
/// Used by one thread at a time: its owner sees to that.
public final class Database {
  private let handle: OpaquePointer
  private let path: String

  /// Opens the file, or makes it, 0600; a symlink in its place is refused. `isReadOnly`: one that is there, and nothing of
  /// it is changed.
  public init(path: String, isReadOnly: Bool = false) throws(SQLiteError) {
    self.path = path
    // SQLite gives its side files the mode of the main one.
    if !isReadOnly { close(open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)) }
    var opened: OpaquePointer?
    let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    let code = sqlite3_open_v2(path, &opened, access | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK, let opened else {
      sqlite3_close_v2(opened)
      throw SQLiteError(code: code & 0xFF, why: String(cString: sqlite3_errstr(code)), path: path)
    }
    handle = opened
  }

  deinit { sqlite3_close_v2(handle) }

  /// Milliseconds to wait for another process that has the file.
  public func wait(atMost milliseconds: Int32) { sqlite3_busy_timeout(handle, milliseconds) }

  /// Throws where the file can only be read: a header that names a format of the future says so too, and better now than at
  /// the first write. The header has to have been read.
  public func checkWritable() throws(SQLiteError) {
    guard sqlite3_db_readonly(handle, "main") == 0 else {
      throw SQLiteError(code: SQLITE_READONLY, why: "the file can only be read", path: path)
    }
  }

  /// One statement or several, without values.
  public func execute(_ sql: String) throws(SQLiteError) {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure }
  }

  public func prepare(_ sql: String) throws(SQLiteError) -> Statement {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else { throw failure }
    return Statement(statement, of: self)
  }

  /// Rows changed by the last statement.
  public var changes: Int { Int(sqlite3_changes(handle)) }

  /// All of `body`, or nothing of it.
  public func transaction<Result>(_ body: () throws(SQLiteError) -> Result) throws(SQLiteError) -> Result {
    try execute("BEGIN IMMEDIATE")
    do throws(SQLiteError) {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      // After some failures SQLite has rolled back by itself; then this one fails. The first error is the one to tell.
      try? execute("ROLLBACK")
      throw error
    }
  }

  fileprivate var failure: SQLiteError {
    SQLiteError(code: sqlite3_errcode(handle) & 0xFF, why: String(cString: sqlite3_errmsg(handle)), path: path)
  }
}

/// A prepared statement, used again and again.
public final class Statement {
  public enum Value: Sendable {
    case integer(Int64)
    case text(String)
    /// A text that is at hand as bytes.
    case utf8([UInt8])
    case null
  }

  private let handle: OpaquePointer
  /// Kept: a statement must not outlive its connection.
  private let database: Database

  fileprivate init(_ handle: OpaquePointer, of database: Database) {
    self.handle = handle
    self.database = database
  }

  deinit { sqlite3_finalize(handle) }

  /// Runs it with these values in place of its question marks; `row` says whether to go on.
  public func run(
    _ values: [Value] = [], row: (borrowing Row) -> Bool = { _ in true }
  ) throws(SQLiteError) {
    defer {
      sqlite3_reset(handle)
      sqlite3_clear_bindings(handle)
    }
    for (index, value) in values.enumerated() { try bind(value, at: Int32(index + 1)) }
    while true {
      switch sqlite3_step(handle) {
      case SQLITE_ROW: guard row(Row(handle: handle)) else { return }
      case SQLITE_DONE: return
      default: throw database.failure
      }
    }
  }

  private func bind(_ value: Value, at index: Int32) throws(SQLiteError) {
    // SQLITE_TRANSIENT, a cast that is not imported: the library takes its own copy.
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    let code =
      switch value {
      case .integer(let number): sqlite3_bind_int64(handle, index, number)
      case .text(let text): sqlite3_bind_text(handle, index, text, Int32(text.utf8.count), transient)
      case .utf8(let bytes):
        bytes.withUnsafeBytes {
          sqlite3_bind_text(
            handle, index, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count), transient)
        }
      case .null: sqlite3_bind_null(handle, index)
      }
    guard code == SQLITE_OK else { throw database.failure }
  }
}

/// The row that a statement stands on.
public struct Row: ~Copyable {
  fileprivate let handle: OpaquePointer

  public func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  /// nil for NULL.
  public func text(_ column: Int32) -> String? {
    bytes(column).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Those of a text; nil for NULL.
  public func bytes(_ column: Int32) -> [UInt8]? {
    guard let start = sqlite3_column_text(handle, column) else { return nil }
    return Array(UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
  }
}
