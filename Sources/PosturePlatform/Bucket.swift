/// A token bucket: `burst` at once, then one every `interval` milliseconds. Times are those of a clock that only goes
/// forward.
public struct Bucket: Hashable, Sendable {
  public let interval: Int64
  public let burst: Int64
  /// When the bucket will be full again.
  private var fullAt: Int64 = .min

  public init(every interval: Int64, burst: Int) {
    self.interval = interval
    self.burst = Int64(burst)
  }

  /// When the next token can be had: `now`, or later.
  public func next(_ now: Int64) -> Int64 {
    guard fullAt > now else { return now }
    return max(now, fullAt - (burst - 1) * interval)
  }

  /// Takes the token that can be had at ``next(_:)``.
  public mutating func take(_ now: Int64) { fullAt = max(fullAt, now) + interval }

  /// Takes a token if there is one now.
  public mutating func takeNow(_ now: Int64) -> Bool {
    guard next(now) == now else { return false }
    take(now)
    return true
  }
}
