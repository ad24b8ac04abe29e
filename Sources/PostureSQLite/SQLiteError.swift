import CSQLite

/// Why a database does not do what it should.
public struct SQLiteError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Primary result code (https://www.sqlite.org/rescode.html).
  public let code: Int32
  /// The library's words.
  public let why: String
  public let path: String

  /// Another process has the file.
  public var isBusy: Bool { code == SQLITE_BUSY || code == SQLITE_LOCKED }
  public var isReadOnly: Bool { code == SQLITE_READONLY }
  /// What is in the file is not what was written; everything but the file system's own refusals.
  public var isDamage: Bool {
    ![SQLITE_FULL, SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH, SQLITE_INTERRUPT].contains(code)
      && !isBusy && !isReadOnly
  }

  public var description: String { "\(path): \(why)" }
}
