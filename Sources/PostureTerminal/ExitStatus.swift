import Glibc
public import Posture

/// Exit statuses of our commands (sysexits(3) where it has a word).
public enum ExitStatus {
  /// EX_USAGE.
  public static let usage: Int32 = 64
  /// EX_SOFTWARE.
  public static let failed: Int32 = 70

  public static func of(_ verdict: Verdict) -> Int32 {
    switch verdict {
    case .pass: 0
    case .fail: 1
    case .unknown: 2
    }
  }

  /// Runs `body`; a wrong command line is told on standard error, with how to get help.
  public static func of(_ body: () throws(UsageError) -> Int32) -> Int32 {
    do throws(UsageError) { return try body() } catch {
      Terminal.error("\(Terminal.program): \(error). Try: \(Terminal.program) --help")
      return usage
    }
  }

  /// Ends the process, and its threads where they are: exit(3) would first take the tables of OpenSSL and others away from
  /// under a thread that is still at work with them. Where output was lost, the status is ``failed``.
  public static func leave(_ status: Int32) -> Never {
    fflush(nil)
    _exit(Terminal.hasFailed ? failed : status)
  }
}
