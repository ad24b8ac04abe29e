import Glibc

/// Points of time as people and logs write them.
public enum Timestamp {
  /// RFC 3339 in UTC, to the second; the number itself where it is no date.
  public static func text(_ seconds: Int64) -> String {
    var time = time_t(seconds)
    var parts = tm()
    guard (0...253_402_300_799).contains(seconds), gmtime_r(&time, &parts) != nil else { return String(seconds) }
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(parts.tm_year + 1_900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
      + "T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
  }
}
