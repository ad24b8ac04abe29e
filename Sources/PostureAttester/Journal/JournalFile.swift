import PostureSQLite
import Glibc
import Posture
import PosturePlatform

/// The files of the state folder.
enum JournalFile {
  private enum Content {
    case sound(JournalStore, [String: String])
    /// Not what was written.
    case damaged

    var rows: [String: String]? { if case .sound(_, let rows) = self { rows } else { nil } }
  }

  /// Opens `journal.db`. A damaged one is set aside as `journal.db.damaged`, and an empty one takes its place.
  static func open(folder: String) throws(JournalError) -> (JournalStore, Remains) {
    let path = Path.join(folder, Journal.fileName)
    let wasSetAside = access(asidePath(path), F_OK) == 0
    let marks = (try? AtomicFile.read(Path.join(folder, Journal.marksName))).flatMap(Marks.init(bytes:))
    let remains: Remains
    do {
      // Closed again before the file is moved: SQLite removes its log by name.
      let found = try content(path)
      remains = Remains(rows: found.rows, marks: marks, wasSetAside: wasSetAside)
      if case .sound(let store, _) = found, !remains.isDamaged { return (store, remains) }
    }
    try setAside(path)
    guard case .sound(let store, _) = try content(path) else {
      throw JournalError(code: .disk, why: "a new file is damaged at once")
    }
    return (store, remains)
  }

  private static func content(_ path: String) throws(JournalError) -> Content {
    do throws(SQLiteError) {
      let store = try JournalStore(path: path)
      guard try store.isSound(), let rows = try checkedRows(store) else { return .damaged }
      return .sound(store, rows)
    } catch {
      guard isDamage(error, path) else { throw JournalError(code: error.isBusy ? .busy : .disk, why: error.why) }
      return .damaged
    }
  }

  private static func checkedRows(_ store: JournalStore) throws(SQLiteError) -> [String: String]? {
    var rows: [String: String] = [:]
    for (key, entry) in try store.entries() {
      guard entry.check == Checksum.of(key, entry.value) else { return nil }
      rows[key] = entry.value
    }
    return rows
  }

  /// SQLite calls a file read-only whose header names a format that it does not know.
  private static func isDamage(_ error: SQLiteError, _ path: String) -> Bool {
    error.isDamage || (error.isReadOnly && access(path, W_OK) == 0 && access(Path.folder(of: path), W_OK) == 0)
  }

  private static func asidePath(_ path: String) -> String { "\(path).damaged" }

  private static func setAside(_ path: String) throws(JournalError) {
    do throws(SystemError) { try retrying("rename", path) { rename(path, asidePath(path)) } } catch {
      guard error.isMissing else { throw JournalError(code: .disk, why: error.description) }
    }
    unlink("\(path)-wal")
    unlink("\(path)-shm")
  }
}
