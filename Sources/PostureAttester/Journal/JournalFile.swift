import PostureSQLite
import Glibc
import Posture
import PosturePlatform

/// What the state folder holds when the agent starts.
struct JournalFile {
  let store: JournalStore
  /// None where a chain has to be begun.
  let rows: [String: String]
  let marks: Marks?
  let opening: Journal.Opening
  /// No number that was used before is known any more.
  let isBlind: Bool

  private enum Content {
    case sound(JournalStore, [String: String])
    /// Not what was written.
    case damaged
  }

  /// Opens `journal.db`. A damaged one is set aside as `journal.db.damaged`, and an empty one takes its place.
  static func open(folder: String) throws(JournalError) -> JournalFile {
    let path = Path.join(folder, Journal.fileName)
    let wasSetAside = access(asidePath(path), F_OK) == 0
    let marks = (try? AtomicFile.read(Path.join(folder, Journal.marksName))).flatMap(Marks.init(bytes:))
    if case .sound(let store, let rows) = try content(path) {
      if !rows.isEmpty, !isBehind(rows, marks) {
        return JournalFile(store: store, rows: rows, marks: marks, opening: .asLeft, isBlind: false)
      }
      if rows.isEmpty {
        let reason: EventClaims.StartReason =
          wasSetAside ? .damagedStore : marks?.isFresh == true ? .enrolled : .lostStore
        return JournalFile(store: store, rows: [:], marks: marks, opening: .anew(reason), isBlind: marks == nil)
      }
    }
    try setAside(path)
    guard case .sound(let store, _) = try content(path) else {
      throw JournalError(code: .disk, why: "a new file is damaged at once")
    }
    return JournalFile(store: store, rows: [:], marks: marks, opening: .anew(.damagedStore), isBlind: marks == nil)
  }

  private static func content(_ path: String) throws(JournalError) -> Content {
    do throws(SQLiteError) {
      let store = try JournalStore(path: path)
      guard try store.isSound(), let rows = try checkedRows(store) else { return .damaged }
      // Rows of no ledger are as useless as rows with a wrong checksum.
      guard rows.isEmpty || Ledger(rows: rows, kid: "") != nil else { return .damaged }
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

  /// A log whose end was damaged leaves an older state that looks sound.
  private static func isBehind(_ rows: [String: String], _ marks: Marks?) -> Bool {
    guard let marks, let ledger = Ledger(rows: rows, kid: "") else { return false }
    return (ledger.chain.generation, ledger.chain.number) < (marks.generation, marks.event)
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
