import Glibc
import PosturePlatform

/// Ways of taking time.
enum Measure {
  /// Nanoseconds per call of `body`, several samples of a batch each.
  static func perCall(samples: Int = 31, batch: Int, _ body: () -> Void) -> Samples {
    body()
    return Samples(
      (0..<samples).map { _ in
        let start = Clock.monotonicNanoseconds
        for _ in 0..<batch { body() }
        return Double(Clock.monotonicNanoseconds - start) / Double(batch)
      })
  }

  /// Two bodies in turn, so that whatever else the machine does hits both alike.
  static func paired(samples: Int = 31, batch: Int, _ one: () -> Void, _ other: () -> Void) -> (Samples, Samples) {
    let pairs = (0..<samples).map { _ in
      (perCall(samples: 1, batch: batch, one).median, perCall(samples: 1, batch: batch, other).median)
    }
    return (Samples(pairs.map(\.0)), Samples(pairs.map(\.1)))
  }

  /// A whole process: time from start to end, and CPU time.
  struct Run {
    var milliseconds: Double
    var cpuMilliseconds: Double
  }

  /// Runs a program with its output thrown away; nil where it cannot be started.
  static func process(_ path: String, _ arguments: [String]) -> Run? {
    let start = Clock.monotonicNanoseconds
    guard let pid = spawn(path, arguments) else { return nil }
    var usage = rusage()
    var status: Int32 = 0
    while wait4(pid, &status, 0, &usage) < 0 && errno == EINTR {}
    return Run(milliseconds: Double(Clock.monotonicNanoseconds - start) / 1e6, cpuMilliseconds: cpu(usage))
  }

  /// The most memory that a program holds, in bytes, by looking again and again until it ends: what wait4(2) says is
  /// never less than the memory of whoever started it. nil where it cannot be started.
  static func peak(_ path: String, _ arguments: [String]) -> Int? {
    guard let pid = spawn(path, arguments) else { return nil }
    var peak = 0
    while waitpid(pid, nil, WNOHANG) == 0 {
      peak = max(peak, ProcessReading.peak(of: pid))
      usleep(100)
    }
    return peak
  }

  private static func spawn(_ path: String, _ arguments: [String]) -> pid_t? {
    let environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"]
    return try? Command.spawn(path, arguments, environment, in: -1, out: -1, err: -1)
  }

  private static func cpu(_ usage: rusage) -> Double {
    Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3
      + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3
  }
}
