import PosturePlatform
import Glibc

/// Lines on standard error with a priority before each (sd-daemon(3)), so that a journal sorts them and a person can read
/// them. Each kind of line has a bucket, so that a fault that repeats does not fill a disk.
final class Log {
  enum Priority: Int {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
  }

  private struct Kind {
    var bucket = Bucket(every: 60_000, burst: 10)
    var withheld = 0
  }

  private var kinds: [String: Kind] = [:]
  private let write: (String) -> Void

  init(_ write: @escaping (String) -> Void = Log.standardError) { self.write = write }

  /// `kind` is a word of the program, never text from outside: it is what is counted together.
  func say(_ priority: Priority, _ kind: String, _ text: String) {
    let now = Clock.monotonicMilliseconds
    guard kinds[kind, default: Kind()].bucket.takeNow(now) else {
      kinds[kind]?.withheld += 1
      return
    }
    let withheld = kinds[kind]?.withheld ?? 0
    kinds[kind]?.withheld = 0
    let suffix = withheld > 0 ? " (\(withheld) such lines left out)" : ""
    write("<\(priority.rawValue)>\(Self.plain(text))\(suffix)")
  }

  /// Text from outside may hold what moves a cursor or starts a line.
  private static func plain(_ text: String) -> String {
    String(
      String.UnicodeScalarView(text.unicodeScalars.prefix(2_000).map { $0.value < 0x20 || $0.value == 0x7F ? "?" : $0 })
    )
  }

  static func standardError(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    // A log that cannot be written is no reason to stop.
    _ = bytes.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
  }
}
