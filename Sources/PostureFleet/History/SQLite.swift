import CSQLite

/// One connection to a database of libsqlite3; every error becomes a ``HistoryError`` with the library's words.
///
/// Used by one thread at a time: the owner sees to that.
final class SQLite {
  private let handle: OpaquePointer

  init(path: String) throws(HistoryError) {
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    let code = sqlite3_open_v2(path, &opened, flags, nil)
    guard code == SQLITE_OK, let opened else {
      let why = String(cString: sqlite3_errstr(code))
      sqlite3_close_v2(opened)
      throw HistoryError(description: "\(path): \(why)")
    }
    handle = opened
    sqlite3_busy_timeout(handle, 5_000)
  }

  deinit { sqlite3_close_v2(handle) }

  var error: HistoryError { HistoryError(description: "history: \(String(cString: sqlite3_errmsg(handle)))") }

  func execute(_ text: String) throws(HistoryError) {
    guard sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK else { throw error }
  }

  func prepare(_ text: String) throws(HistoryError) -> Statement {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, text, -1, &statement, nil) == SQLITE_OK, let statement else { throw error }
    return Statement(statement, of: self)
  }

  /// Rows changed by the last statement.
  var changes: Int { Int(sqlite3_changes(handle)) }

  /// All of `body`, or nothing of it.
  func transaction<Result>(_ body: () throws(HistoryError) -> Result) throws(HistoryError) -> Result {
    try execute("BEGIN IMMEDIATE")
    do throws(HistoryError) {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      // The first error is the one to tell.
      try? execute("ROLLBACK")
      throw error
    }
  }

  enum Value {
    case integer(Int64)
    case text(String)
    case null
  }

  /// A prepared statement, used again and again.
  final class Statement {
    private let handle: OpaquePointer
    private let database: SQLite

    fileprivate init(_ handle: OpaquePointer, of database: SQLite) {
      self.handle = handle
      self.database = database
    }

    deinit { sqlite3_finalize(handle) }

    /// Runs it with these values in place of its question marks; `row` says whether to go on.
    func run(_ values: [Value], row: (borrowing Row) -> Bool = { _ in true }) throws(HistoryError) {
      defer {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
      }
      for (index, value) in values.enumerated() { try bind(value, at: Int32(index + 1)) }
      while true {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: guard row(Row(handle: handle)) else { return }
        case SQLITE_DONE: return
        default: throw database.error
        }
      }
    }

    private func bind(_ value: Value, at index: Int32) throws(HistoryError) {
      // SQLITE_TRANSIENT, a cast that is not imported: the library takes its own copy.
      let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
      let code =
        switch value {
        case .integer(let number): sqlite3_bind_int64(handle, index, number)
        case .text(let text): sqlite3_bind_text(handle, index, text, Int32(text.utf8.count), transient)
        case .null: sqlite3_bind_null(handle, index)
        }
      guard code == SQLITE_OK else { throw database.error }
    }
  }

  /// The row that a statement stands on.
  struct Row: ~Copyable {
    fileprivate let handle: OpaquePointer

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func text(_ column: Int32) -> String? {
      guard let start = sqlite3_column_text(handle, column) else { return nil }
      let count = Int(sqlite3_column_bytes(handle, column))
      return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }
  }
}
