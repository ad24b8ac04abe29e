import Posture
import PosturePlatform
import Synchronization

/// The history's thread: stores what it is given in batches, and answers questions between them.
final class HistoryLedger: Sendable {
  /// Records that wait; beyond it whoever brings one waits.
  private static let cap = 2_048

  private struct Queue {
    var records: [HistoryRecord] = []
    var samples: [TrendSample] = []
    var prune: Int64?
    var isEnded = false
    var trouble: String?
    var stored = 0
    var onConflict: @Sendable (HistoryRecord) -> Void = { _ in }
  }

  private let queue = Mutex(Queue())
  /// One connection, used by one thread at a time.
  private let store: Mutex<any HistoryStore & Sendable>
  private let work: Waker
  private let room: Waker

  init(_ store: any HistoryStore & Sendable) throws(SystemError) {
    self.store = Mutex(store)
    work = try Waker()
    room = try Waker()
  }

  /// Called for a message that contradicts one that is stored.
  var onConflict: @Sendable (HistoryRecord) -> Void {
    get { queue.withLock { $0.onConflict } }
    set { queue.withLock { $0.onConflict = newValue } }
  }

  var trouble: String? { queue.withLock { $0.trouble } }
  /// Messages stored since the start.
  var stored: Int { queue.withLock { $0.stored } }

  func put(_ record: HistoryRecord) {
    while true {
      // The thread takes all of them at once, after it has cleared the waker.
      let count = queue.withLock { queue -> Int? in
        guard queue.records.count < Self.cap || queue.isEnded else { return nil }
        queue.records.append(record)
        return queue.records.count
      }
      if let count {
        if count == 1 { work.wake() }
        return
      }
      _ = room.wait(100)
      room.clear()
    }
  }

  func put(_ sample: TrendSample) {
    queue.withLock { $0.samples.append(sample) }
    work.wake()
  }

  func prune(before: Int64) {
    queue.withLock { $0.prune = before }
    work.wake()
  }

  func stop() {
    queue.withLock { $0.isEnded = true }
    work.wake()
  }

  func run() {
    while true {
      _ = work.wait(nil)
      work.clear()
      // A short while for more to come: one transaction costs as much as a thousand rows.
      Clock.sleep(milliseconds: 50)
      let batch = queue.withLock { queue in
        defer { (queue.records, queue.samples, queue.prune) = ([], [], nil) }
        return queue
      }
      room.wake()
      store(batch)
      if batch.isEnded { return }
    }
  }

  /// What cannot be stored is told and given up: the state in memory goes on, and the broker still has the last of each.
  private func store(_ batch: Queue) {
    let result: Result<[Insertion], HistoryError> = store.withLock { store in
      do throws(HistoryError) {
        let insertions = batch.records.isEmpty ? [] : try store.insert(batch.records)
        for sample in batch.samples { try store.add(sample) }
        if let before = batch.prune { _ = try store.prune(before: before) }
        return .success(insertions)
      } catch { return .failure(error) }
    }
    switch result {
    case .success(let insertions):
      queue.withLock { queue in
        queue.trouble = nil
        queue.stored += insertions.count { $0 == .inserted }
      }
      for (record, insertion) in zip(batch.records, insertions) where insertion == .conflict {
        batch.onConflict(record)
      }
    case .failure(let error): queue.withLock { $0.trouble = error.description }
    }
  }

  func records(of name: Name, limit: Int) throws(HistoryError) -> [HistoryRecord] {
    try result { store throws(HistoryError) in try store.records(of: name, limit: limit) }
  }

  func since(_ verdict: Verdict, of name: Name) throws(HistoryError) -> Int64? {
    try result { store throws(HistoryError) in try store.since(verdict, of: name) }
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
