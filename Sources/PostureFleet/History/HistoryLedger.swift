import Posture
import PosturePlatform
import Synchronization

/// The history's thread: stores what it is given in batches, and answers questions between them.
final class HistoryLedger: Sendable {
  /// Records that wait; beyond it whoever brings one waits.
  private static let cap = 2_048
  /// Milliseconds in which more may come: one transaction costs as much as a thousand rows.
  private static let pause: Int64 = 50
  /// Milliseconds until what could not be stored is tried again.
  private static let retry: Int64 = 1_000

  private enum Work: Sendable {
    case record(HistoryRecord)
    case sample(TrendSample)
    case prune(before: Int64)

    var record: HistoryRecord? { if case .record(let record) = self { record } else { nil } }
  }

  private struct State {
    var trouble: String?
    var stored = 0
    var dropped = 0
    var lost = 0
    var onConflict: @Sendable (HistoryRecord) -> Void = { _ in }
  }

  private let state = Mutex(State())
  private let work: WorkQueue<Work>
  /// One connection, used by one thread at a time.
  private let store: Mutex<any HistoryStore & Sendable>

  init(_ store: any HistoryStore & Sendable) throws(SystemError) {
    self.store = Mutex(store)
    work = try WorkQueue(cap: Self.cap)
  }

  /// Called for a message that contradicts one that is stored.
  var onConflict: @Sendable (HistoryRecord) -> Void {
    get { state.withLock { $0.onConflict } }
    set { state.withLock { $0.onConflict = newValue } }
  }

  var trouble: String? { state.withLock { $0.trouble } }
  /// Messages stored since the start.
  var stored: Int { state.withLock { $0.stored } }
  /// Messages that could not be stored, and are lost, since the start.
  var dropped: Int { state.withLock { $0.dropped } }
  /// Those of them that could not be declared either; known at the end.
  var lost: Int { state.withLock { $0.lost } }

  func put(_ record: HistoryRecord) { work.put(.record(record)) }
  func put(_ sample: TrendSample) { work.post(.sample(sample)) }
  func prune(before: Int64) { work.post(.prune(before: before)) }
  func stop() { work.end() }

  /// Until ``stop()``, and until everything is stored then, or one last try has failed.
  func run() {
    var backlog = Backlog()
    while let batch = backlog.isEmpty ? work.takeAll(after: Self.pause) : work.takeAll(after: Self.retry, within: 0) {
      store(batch, &backlog)
    }
    if !backlog.isEmpty { store([], &backlog) }
    let (unstored, undeclared) = (backlog.records.count, backlog.dropped.values.reduce(0, +))
    state.withLock { state in
      state.dropped += unstored
      state.lost = unstored + undeclared
    }
  }

  /// What cannot be stored is told and tried again: the state in memory goes on meanwhile.
  private func store(_ batch: [Work], _ backlog: inout Backlog) {
    if batch.isEmpty && backlog.isEmpty { return }
    backlog.add(batch.compactMap(\.record))
    var failure: HistoryError?
    do throws(HistoryError) {
      try insert(backlog.records)
      // What is stored is stored, whatever becomes of a sample or of tidying up after it.
      backlog.clear()
      try declareLosses(&backlog)
      for work in batch { try keep(work) }
    } catch { failure = error }
    let gone = backlog.trim()
    state.withLock { state in
      state.trouble = failure?.description
      state.dropped += gone
    }
  }

  private func insert(_ records: [HistoryRecord]) throws(HistoryError) {
    if records.isEmpty { return }
    let insertions = try result { store throws(HistoryError) in try store.insert(records) }
    let onConflict = state.withLock { state in
      state.stored += insertions.count { $0 == .inserted }
      return state.onConflict
    }
    for (record, insertion) in zip(records, insertions) where insertion == .conflict { onConflict(record) }
  }

  private func declareLosses(_ backlog: inout Backlog) throws(HistoryError) {
    for (device, count) in backlog.dropped {
      try add(HistoryRemark(device: device, at: Clock.wall, by: HistoryRemark.monitor, kind: .unstored(count)))
      backlog.declare(device)
    }
  }

  private func keep(_ work: Work) throws(HistoryError) {
    try result { store throws(HistoryError) in
      switch work {
      case .record: return
      case .sample(let sample): try store.add(sample)
      case .prune(let before): _ = try store.prune(before: before)
      }
    }
  }

  func records(of name: Name, limit: Int) throws(HistoryError) -> [HistoryRecord] {
    try result { store throws(HistoryError) in try store.records(of: name, limit: limit) }
  }

  func since(_ verdict: Verdict, of name: Name) throws(HistoryError) -> (at: Int64, isSeen: Bool)? {
    try result { store throws(HistoryError) in try store.since(verdict, of: name) }
  }

  func newestReport(of name: Name, by kid: String) throws(HistoryError) -> Int64? {
    try result { store throws(HistoryError) in try store.newestReport(of: name, by: kid) }
  }

  func trend(since: Int64) throws(HistoryError) -> [TrendSample] {
    try result { store throws(HistoryError) in try store.trend(since: since) }
  }

  /// Stored when this returns: what an operator says must not be lost with the queue.
  @discardableResult
  func add(_ remark: HistoryRemark) throws(HistoryError) -> Int64 {
    try result { store throws(HistoryError) in try store.add(remark) }
  }

  func remarks(after number: Int64) throws(HistoryError) -> (remarks: [HistoryRemark], last: Int64) {
    try result { store throws(HistoryError) in try store.remarks(after: number) }
  }

  func contradicted() throws(HistoryError) -> [Name: Int64] {
    try result { store throws(HistoryError) in try store.contradicted() }
  }

  func remarks(of name: Name, limit: Int) throws(HistoryError) -> [HistoryRemark] {
    try result { store throws(HistoryError) in try store.remarks(of: name, limit: limit) }
  }

  private func result<Value: Sendable>(
    _ body: (any HistoryStore & Sendable) throws(HistoryError) -> Value
  ) throws(HistoryError) -> Value {
    let result: Result<Value, HistoryError> = store.withLock { store in
      do throws(HistoryError) { return .success(try body(store)) } catch { return .failure(error) }
    }
    return try result.get()
  }
}
