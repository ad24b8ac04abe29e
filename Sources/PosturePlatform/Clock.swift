import CLinux
import Glibc

/// Readings of the system's clocks.
public enum Clock {
  /// Seconds since the epoch.
  public static var wall: Int64 { Int64(reading(CLOCK_REALTIME).tv_sec) }
  /// The same in microseconds.
  public static var wallMicroseconds: Int64 { nanoseconds(CLOCK_REALTIME) / 1_000 }
  /// Nanoseconds since the epoch by the clock that file systems take their times from: it moves in ticks, and what changes
  /// later never has an earlier time.
  public static var fileNanoseconds: Int64 { nanoseconds(CLOCK_REALTIME_COARSE) }
  /// Whether somebody who knows the time (NTP, PTP, a GPS receiver) sets and keeps the system's clock.
  public static var isSynchronized: Bool { clinux_clock_synchronized() }
  /// Milliseconds since some start that no change of the date moves, suspended time included.
  public static var boottimeMilliseconds: Int64 { nanoseconds(CLOCK_BOOTTIME) / 1_000_000 }
  /// Nanoseconds since some start that no change of the date moves.
  public static var monotonicNanoseconds: Int64 { nanoseconds(CLOCK_MONOTONIC) }
  /// The same in milliseconds.
  public static var monotonicMilliseconds: Int64 { monotonicNanoseconds / 1_000_000 }
  /// CPU time of this process in nanoseconds.
  public static var processNanoseconds: Int64 { nanoseconds(CLOCK_PROCESS_CPUTIME_ID) }

  /// Does nothing for a while; a signal may end it earlier.
  public static func sleep(milliseconds: Int64) {
    var time = timespec(tv_sec: time_t(milliseconds / 1_000), tv_nsec: Int(milliseconds % 1_000) * 1_000_000)
    nanosleep(&time, nil)
  }

  private static func nanoseconds(_ clock: clockid_t) -> Int64 {
    let now = reading(clock)
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
  }

  private static func reading(_ clock: clockid_t) -> timespec {
    var now = timespec()
    clock_gettime(clock, &now)
    return now
  }
}
