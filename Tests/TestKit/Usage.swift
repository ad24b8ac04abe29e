public import Glibc
import PosturePlatform

/// What a process uses, as /proc tells.
public struct Usage: Hashable, Sendable, CustomStringConvertible {
  public var residentKilobytes = 0
  public var descriptors = 0
  public var threads = 0
  /// Times that its threads have waited for something, which is how often they have woken up.
  public var waits = 0
  /// Milliseconds of processor time.
  public var processor = 0

  /// nil where there is no such process.
  public init?(of pid: pid_t) {
    guard let status = Self.read("/proc/\(pid)/status"), let stat = Self.read("/proc/\(pid)/stat") else { return nil }
    residentKilobytes = Self.number("VmRSS:", status)
    threads = Self.number("Threads:", status)
    descriptors = FolderListing.names("/proc/\(pid)/fd").count
    for task in FolderListing.names("/proc/\(pid)/task") {
      waits += Self.read("/proc/\(pid)/task/\(task)/status").map { Self.number("voluntary_ctxt_switches:", $0) } ?? 0
    }
    // Behind the name, which may hold blanks: fields 14 and 15 of proc_pid_stat(5).
    let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else { return nil }
    processor = (user + system) * 1_000 / Int(sysconf(Int32(_SC_CLK_TCK)))
  }

  private static func read(_ path: String) -> String? {
    (try? AtomicFile.readAny(path)).map { String(decoding: $0, as: UTF8.self) }
  }

  private static func number(_ name: String, _ text: String) -> Int {
    let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
    return line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) } ?? 0
  }

  public var description: String { "\(residentKilobytes) KB, \(descriptors) descriptors, \(threads) threads" }
}
