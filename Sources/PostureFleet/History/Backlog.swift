import Posture

/// Records on their way into the history: where it cannot take them they wait, the newest of them where it is much.
/// What was dropped is known until it has been declared.
struct Backlog {
  /// Bytes that wait at most.
  static let most = 32 << 20
  /// Bytes of a record beside its token, about.
  private static let overhead = 256

  private(set) var records: [HistoryRecord] = []
  private(set) var dropped: [Name: Int] = [:]

  var isEmpty: Bool { records.isEmpty && dropped.isEmpty }

  mutating func add(_ more: [HistoryRecord]) { records += more }

  /// All that waited is stored.
  mutating func clear() { records = [] }

  /// Nothing was stored: drops the oldest beyond ``most``, and gives how many.
  mutating func trim() -> Int {
    var room = Self.most
    let kept = records.reversed().prefix { record in
      room -= record.token.count + Self.overhead
      return room >= 0
    }.count
    let gone = records.count - kept
    for record in records.prefix(gone) { dropped[record.device, default: 0] += 1 }
    records.removeFirst(gone)
    return gone
  }

  mutating func declare(_ device: Name) { dropped[device] = nil }
}
