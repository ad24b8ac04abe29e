/// What is known of the time. Where the clock is not trusted, `seconds` is a lower bound: the largest of the build's date,
/// the last one that was persisted and the trust document's.
public struct Moment: Hashable, Sendable {
  /// Seconds that two honest clocks may be apart.
  public static let leeway: Int64 = 60

  /// Seconds since the epoch.
  public var seconds: Int64
  public var isTrusted: Bool

  public init(_ seconds: Int64, isTrusted: Bool = true) {
    self.seconds = seconds
    self.isTrusted = isTrusted
  }

  /// Certain under either clock: even the earliest time that it can be is too late.
  public func isPast(_ end: Int64) -> Bool { seconds >= end }

  /// Only a trusted clock can tell that something lies ahead.
  public func isBefore(_ start: Int64) -> Bool { isTrusted && start > seconds && start - seconds > Self.leeway }
}
