import Posture
import PosturePlatform
import PostureTokens

/// The clocks of the device, and what is known of the time.
public struct DeviceClock: Sendable {
  /// Seconds since the epoch.
  var wall: @Sendable () -> Int64
  /// Whether ``wall`` can be relied on.
  var isTrusted: @Sendable () -> Bool
  /// Milliseconds since the start of the machine, suspended time included.
  var uptime: @Sendable () -> Int64

  init(
    wall: @escaping @Sendable () -> Int64, isTrusted: @escaping @Sendable () -> Bool,
    uptime: @escaping @Sendable () -> Int64
  ) {
    self.wall = wall
    self.isTrusted = isTrusted
    self.uptime = uptime
  }

  /// - Parameter isTrusted: true where the administrator vouches for the clock (a virtual machine whose host keeps it);
  ///   otherwise the kernel is asked.
  public static func system(isTrusted: Bool) -> DeviceClock {
    DeviceClock(
      wall: { Clock.wall }, isTrusted: { isTrusted || Clock.isSynchronized }, uptime: { Clock.boottimeMilliseconds })
  }

  /// The time, or a lower bound of it: the largest of the build's date, the last one written down and the trust
  /// document's. A clock that nobody keeps may be ahead just as well, so it has no say.
  func moment(atLeast known: Int64...) -> Moment {
    let bound = known.reduce(Release.date) { max($0, $1) }
    return isTrusted() && wall() >= Release.date ? Moment(wall()) : Moment(bound, isTrusted: false)
  }
}
