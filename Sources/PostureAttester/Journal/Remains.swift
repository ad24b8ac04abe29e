import Posture

/// What the state folder still holds when the agent starts, and what follows from it: a pure machine, so that every loss
/// can be tried.
struct Remains: Hashable, Sendable {
  /// Of the journal, whole and of one moment. None where a chain has to be begun.
  private(set) var rows: [String: String]
  let marks: Marks?
  let opening: Journal.Opening
  /// The journal is not what was written: it has to make room for a new one.
  let isDamaged: Bool

  /// - Parameters:
  ///   - rows: what was read; nil where that was not what had been written.
  ///   - wasSetAside: a damaged journal lies beside this one.
  init(rows: [String: String]?, marks: Marks?, wasSetAside: Bool) {
    self.marks = marks
    guard let rows, rows.isEmpty || !Self.isBehind(rows, marks) else {
      (self.rows, opening, isDamaged) = ([:], .anew(.damagedStore), true)
      return
    }
    (self.rows, isDamaged) = (rows, false)
    if !rows.isEmpty {
      opening = .asLeft
    } else {
      opening = .anew(wasSetAside ? .damagedStore : marks?.isFresh == true ? .enrolled : .lostStore)
    }
  }

  /// A log whose end was damaged leaves an older state that looks sound.
  private static func isBehind(_ rows: [String: String], _ marks: Marks?) -> Bool {
    guard let ledger = Ledger(rows: rows, kid: "") else { return true }
    guard let marks else { return false }
    return (ledger.chain.generation, ledger.chain.number) < (marks.generation, marks.event)
  }

  /// The highest known number of each key.
  var sequences: [String: Int64] {
    var sequences = marks?.sequences ?? [:]
    for (key, value) in rows where key.hasPrefix("seq/") {
      let kid = String(key.dropFirst(4))
      sequences[kid] = max(sequences[kid] ?? 0, Int64(value) ?? 0)
    }
    return sequences
  }

  /// The ledger to go on with.
  /// - Parameters:
  ///   - kid: the key that signs from now on.
  ///   - id: of the chain, where one has to be begun.
  ///   - now: seconds since the epoch, for a sequence that nothing is known of any more.
  func ledger(kid: String, chain id: String, now: Int64) -> (ledger: Ledger, opening: Journal.Opening) {
    let marks = marks ?? .fresh
    guard var left = Ledger(rows: rows, kid: kid), !rows.isEmpty else {
      var ledger = Ledger(kid: kid, chain: EventChain(id: id, generation: marks.generation + 1), marks: marks)
      if self.marks == nil {
        // No number that was used before is known any more.
        ledger.unknownKeys = Self.blindStart(now)
        ledger.sequence = Counter(reserved: ledger.unknownKeys)
        ledger.connection = ledger.sequence
      }
      return (ledger, opening)
    }
    left.catchUp(with: marks)
    guard sequences[kid] == nil else { return (left, opening) }
    left.sequence = Counter(reserved: left.unknownKeys)
    left.chain = EventChain(id: id, generation: left.chain.generation + 1)
    return (left, .anew(.newKey))
  }

  /// Where both files are lost the clock is what is left: a leap each second is more than any device uses, however often it
  /// loses one of the two. Below 2^53, which every reader of JSON can hold, for two hundred years.
  private static func blindStart(_ now: Int64) -> Int64 { max(0, now) * Counter.leap }
}
