/// A token bucket: so many at once, and so many more as time passes.
struct Bucket: Sendable {
  private let capacity: Double
  private let perSecond: Double
  private var level: Double
  private var filledAt: Int64

  /// - Parameter now: milliseconds of a clock that only goes forward.
  init(capacity: Int, perSecond: Double, now: Int64) {
    self.capacity = Double(capacity)
    self.perSecond = perSecond
    level = self.capacity
    filledAt = now
  }

  mutating func take(now: Int64) -> Bool {
    level = min(capacity, level + Double(max(0, now - filledAt)) / 1000 * perSecond)
    filledAt = now
    guard level >= 1 else { return false }
    level -= 1
    return true
  }
}
