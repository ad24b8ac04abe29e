import PostureSQLite
import Glibc
import Posture
import PosturePlatform
import PostureTokens

/// Why the journal cannot be used.
struct JournalError: Error, Hashable, Sendable, CustomStringConvertible {
  enum Code: String, Sendable {
    /// Another process has it open.
    case busy
    /// The file system does not take it.
    case disk
  }
  let code: Code
  let why: String
  var description: String { "journal: \(why)" }
}

/// What the attester remembers, on the disk: one SQLite file, and ``Marks`` beside it.
///
/// A change is made to a copy of the ledger, written in one transaction, and counts only when that is on the disk.
final class Journal {
  /// What was found at the start.
  enum Opening: Hashable, Sendable {
    case asLeft
    /// A chain has to be begun, for this reason.
    case anew(EventClaims.StartReason)
  }

  private(set) var ledger: Ledger
  let opening: Opening
  /// Transactions since the start, and bytes of rows that they wrote.
  private(set) var writes = 0
  private(set) var bytesWritten = 0
  /// Why the last write failed; nil after one that did not.
  private(set) var failure: String?
  /// When what failed is tried again for its own sake, by ``uptime``.
  private(set) var retryAt: Int64?
  var isRetryDue: Bool { retryAt.map { uptime() >= $0 } ?? false }
  /// Milliseconds until then: a disk that has room again is noticed without anything happening, and one that has none is
  /// not worn out.
  static let retry: Int64 = 30_000

  private let store: JournalStore
  private let folder: String
  private var rows: [String: String]
  private let otherSequences: [String: Int64]
  private let uptime: () -> Int64
  private var hourBegan: Int64

  static let fileName = "journal.db"
  static let marksName = "marks"

  /// Opens the journal of the state folder, or begins one.
  /// - Parameters:
  ///   - now: seconds since the epoch, for a sequence that nothing is known of any more.
  ///   - uptime: milliseconds that no change of the date moves.
  init(
    folder: String, kid: String, now: Int64, uptime: @escaping () -> Int64 = { Clock.boottimeMilliseconds }
  ) throws(JournalError) {
    let (store, remains) = try JournalFile.open(folder: folder)
    self.store = store
    self.folder = folder
    self.uptime = uptime
    hourBegan = uptime()
    rows = remains.rows
    otherSequences = remains.sequences
    (ledger, opening) = remains.ledger(kid: kid, chain: Base64URL.encode(Random.bytes(16)), now: now)
  }

  /// Makes a state folder ready for its first start, so that a later one without ``Marks`` is known to have lost them.
  static func prepare(folder: String) throws(SystemError) {
    let path = Path.join(folder, marksName)
    guard access(path, F_OK) != 0 else { return }
    try AtomicFile.write(Marks.fresh.bytes, to: path)
  }

  // MARK: Changes

  /// Makes `body`'s change durable; the ledger is the old one where that fails.
  func change(now: Int64, _ body: (inout Ledger) -> Void) throws(JournalError) {
    var next = ledger
    body(&next)
    // The clock rides along, so that the hourly write has nothing to do after another one.
    next.clock = max(next.clock, now)
    let passed = hoursPassed
    next.hours += passed
    try write(next)
    ledger = next
    hourBegan += passed * 3_600_000
    writeMarks()
  }

  /// The one write of an hour in which nothing happens, and another try of what failed.
  func tick(now: Int64) throws(JournalError) {
    guard retryAt == nil ? hoursPassed > 0 : isRetryDue else { return }
    try change(now: now) { _ in }
  }

  /// Tries again what failed, for somebody who is about to say how the journal fares.
  func mend(now: Int64) {
    guard failure != nil else { return }
    try? change(now: now) { _ in }
  }

  private var hoursPassed: Int64 { max(0, uptime() - hourBegan) / 3_600_000 }

  func nextSequence(now: Int64) throws(JournalError) -> Int64 {
    if ledger.sequence.needsBlock { try change(now: now) { $0.sequence.reserveBlock() } }
    return ledger.sequence.take()
  }

  func nextConnection(now: Int64) throws(JournalError) -> Int64 {
    if ledger.connection.needsBlock { try change(now: now) { $0.connection.reserveBlock() } }
    return ledger.connection.take()
  }

  private func write(_ next: Ledger) throws(JournalError) {
    let wanted = next.rows
    // After a failure something is written in any case: a transaction that changes nothing proves nothing.
    let changed = wanted.filter { rows[$0.key] != $0.value || (failure != nil && $0.key == "clock") }
    // Sequences of other keys stay.
    let gone = rows.keys.filter { wanted[$0] == nil && !$0.hasPrefix("seq/") }
    do throws(SQLiteError) {
      try store.commit(
        put: Dictionary(
          uniqueKeysWithValues: changed.map {
            ($0.key, JournalStore.Entry(value: $0.value, check: Checksum.of($0.key, $0.value)))
          }), remove: gone)
    } catch {
      hasFailed(error.description)
      throw JournalError(code: .disk, why: error.why)
    }
    (failure, retryAt) = (nil, nil)
    writes += 1
    bytesWritten += changed.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    rows.merge(changed) { $1 }
    for key in gone { rows[key] = nil }
  }

  /// Only after the journal has it and before anyone else sees it. A failure leaves an older copy, which ``Counter/leap``
  /// makes good for, and is mended with the next write.
  private func writeMarks() {
    let marks = ledger.marks(otherSequences: otherSequences)
    do throws(SystemError) {
      try AtomicFile.write(marks.bytes, to: Path.join(folder, Self.marksName))
    } catch { hasFailed(error.description) }
  }

  private func hasFailed(_ why: String) {
    failure = why
    retryAt = uptime() + Self.retry
  }
}
