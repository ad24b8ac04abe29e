import Glibc
public import PosturePlatform

/// What a piece of work takes from the heap (Tests/Judges/allocations.c), in a process of its own: the counting has to be
/// there before the process begins.
public enum Allocations {
  public struct Count: Sendable {
    /// Bytes asked for altogether.
    public let total: Int
    /// The most that was held at once.
    public let peak: Int
  }

  private typealias Begin = @convention(c) () -> Void
  private typealias End = @convention(c) (UnsafeMutablePointer<Int64>, UnsafeMutablePointer<Int64>) -> Void

  /// Whether this is the process that counts.
  public static let isCounted = dlsym(nil, "allocations_begin") != nil

  /// What `body` takes, on this thread.
  public static func count(_ body: () -> Void) -> Count {
    let begin = unsafeBitCast(dlsym(nil, "allocations_begin"), to: Begin.self)
    let end = unsafeBitCast(dlsym(nil, "allocations_end"), to: End.self)
    var (total, peak): (Int64, Int64) = (0, 0)
    begin()
    body()
    end(&total, &peak)
    return Count(total: Int(total), peak: Int(peak))
  }

  /// Runs the tests of this program that `filter` names with the counting, and gives what they print.
  public static func run(_ filter: String, timeout: Int64 = 300_000) throws -> Command.Output {
    try TemporaryFolder.with { folder in
      try CCompiler.buildLibrary("allocations.c", to: "\(folder)/allocations.so")
      var command = Command("/proc/self/exe", ["--testing-library", "swift-testing", "--filter", filter])
      command.environment = ["PATH=/usr/bin:/bin", "LD_PRELOAD=\(folder)/allocations.so"]
      command.timeout = timeout
      return try command.run()
    }
  }
}
