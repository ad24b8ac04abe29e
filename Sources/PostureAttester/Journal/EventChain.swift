import Posture

/// The chain of events: where it stands, and those that the broker has not acknowledged.
struct EventChain: Hashable, Sendable {
  /// A signed event as it waits. A gap stands for all events from ``first`` to ``number``.
  struct Link: Hashable, Sendable {
    var number: Int64
    var first: Int64
    /// Digest of the event before ``first``; nil at the beginning of the chain.
    var previous: String?
    /// Digest that the next event names.
    var digest: String
    /// Running hours of the agent when it was made (``Ledger/hours``).
    var made: Int64
    var token: String
  }

  struct Bounds: Sendable {
    var events: Int
    /// Bytes of tokens.
    var bytes: Int
    /// Running hours.
    var age: Int64

    /// About as much as a device makes in a year of changes twice a day.
    static let standard = Bounds(events: 1024, bytes: 1 << 20, age: 90 * 24)
  }

  /// Random.
  var id: String
  /// How many chains there have been.
  var generation: Int64
  /// Number and digest of the last event; 0 and nil before the first.
  var number: Int64 = 0
  var head: String?
  /// Oldest first, without holes, up to ``number``.
  var waiting: [Link] = []

  init(id: String, generation: Int64) {
    self.id = id
    self.generation = generation
  }

  /// What a report says of it.
  var claim: ReportClaims.ChainHead { ReportClaims.ChainHead(chain: id, number: number, digest: head) }

  mutating func append(digest: String, token: String, made: Int64) {
    waiting.append(
      Link(number: number + 1, first: number + 1, previous: head, digest: digest, made: made, token: token))
    number += 1
    head = digest
  }

  /// Forgets all up to `number`. A gap whose number is not reached stays whole.
  mutating func acknowledge(_ number: Int64) { waiting.removeAll { $0.number <= number } }

  /// How many of the oldest have to become one gap so that the rest is within `bounds`; 0 where all is.
  func surplus(_ bounds: Bounds, hours: Int64) -> Int {
    let aged = waiting.prefix { hours - $0.made > bounds.age }.count
    let bytes = waiting.reduce(0) { $0 + $1.token.utf8.count }
    guard waiting.count > bounds.events || bytes > bounds.bytes else { return aged > 1 ? aged : 0 }
    // A quarter at once, so that not every further event makes another gap.
    var (count, left) = (0, bytes)
    while count < waiting.count - 1, waiting.count - count > bounds.events * 3 / 4 || left > bounds.bytes / 4 * 3 {
      left -= waiting[count].token.utf8.count
      count += 1
    }
    return max(2, count, aged)
  }

  /// Puts one signed gap in the place of the oldest `count`. The chain goes on as if they had been seen.
  mutating func fold(_ count: Int, token: String) {
    guard let gap = gap(count) else { return }
    waiting.replaceSubrange(
      ..<count,
      with: [
        Link(
          number: gap.number, first: gap.first, previous: gap.previous, digest: gap.digest, made: gap.made,
          token: token)
      ])
  }

  /// What the gap in the place of the oldest `count` has to say; its token is still that of the last of them.
  func gap(_ count: Int) -> Link? {
    guard (1...waiting.count).contains(count), var gap = waiting.prefix(count).last else { return nil }
    gap.first = waiting[0].first
    gap.previous = waiting[0].previous
    return gap
  }

  /// Nothing is missing, and each event follows from the one before.
  var isWhole: Bool {
    guard (number == 0) == (head == nil), number >= 0 else { return false }
    guard let newest = waiting.last else { return true }
    guard newest.number == number, newest.digest == head else { return false }
    return zip(waiting, waiting.dropFirst()).allSatisfy { $1.first == $0.number + 1 && $1.previous == $0.digest }
      && waiting.allSatisfy { $0.first >= 1 && $0.first <= $0.number && ($0.first == 1) == ($0.previous == nil) }
  }
}
