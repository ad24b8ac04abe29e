import Glibc
import PosturePlatform

/// What a process uses, as /proc tells it (proc(5)).
struct ProcessReading {
  /// Bytes.
  var pss = 0
  var privateDirty = 0
  /// Times that a thread of it has waited and woken up again.
  var wakeUps = 0
  /// Milliseconds.
  var cpu = 0.0
  var descriptors = 0

  init() {}

  init(_ pid: pid_t) {
    for line in Self.lines("/proc/\(pid)/smaps_rollup") {
      if line.hasPrefix("Pss:") { pss = Self.number(line) * 1_024 }
      if line.hasPrefix("Private_Dirty:") { privateDirty = Self.number(line) * 1_024 }
    }
    cpu = Self.cpu(of: pid)
    for thread in Self.threads(of: pid) {
      for line in Self.lines("/proc/\(pid)/task/\(thread)/status") where line.hasPrefix("voluntary_ctxt_switches:") {
        wakeUps += Self.number(line)
      }
    }
    descriptors = ((try? Directory.names(in: "/proc/\(pid)/fd")) ?? []).count
  }

  /// Milliseconds on a processor, and nothing else: the rest takes as long as the process is large.
  static func cpu(of pid: pid_t) -> Double {
    threads(of: pid).reduce(0) { sum, thread in
      // The first number is nanoseconds (proc-schedstat.rst).
      let schedule = lines("/proc/\(pid)/task/\(thread)/schedstat").first?.split(separator: " ").first
      return sum + Double(schedule.flatMap { Int($0) } ?? 0) / 1e6
    }
  }

  /// Bytes that it held at most until now; 0 once it has ended.
  static func peak(of pid: pid_t) -> Int {
    lines("/proc/\(pid)/status").first { $0.hasPrefix("VmHWM:") }.map { number($0) * 1_024 } ?? 0
  }

  private static func threads(of pid: pid_t) -> [String] { (try? Directory.names(in: "/proc/\(pid)/task")) ?? [] }

  /// The sum over several processes.
  init(_ pids: [pid_t]) {
    for pid in pids {
      let one = ProcessReading(pid)
      pss += one.pss
      privateDirty += one.privateDirty
      wakeUps += one.wakeUps
      cpu += one.cpu
      descriptors += one.descriptors
    }
  }

  static func parent(of pid: pid_t) -> pid_t? {
    guard let stat = lines("/proc/\(pid)/stat").first else { return nil }
    let fields = fieldsAfterName(stat)
    return fields.count > 1 ? pid_t(fields[1]) : nil
  }

  /// The name stands in parentheses and may hold anything.
  private static func fieldsAfterName(_ stat: String) -> [Substring] {
    guard let end = stat.lastIndex(of: ")") else { return [] }
    return stat[stat.index(after: end)...].split(separator: " ")
  }

  private static func lines(_ path: String) -> [String] {
    guard let bytes = try? Descriptor.open(path, O_RDONLY).readAll(cap: 1 << 20) else { return [] }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// Of "Pss:   1234 kB".
  private static func number(_ line: String) -> Int {
    line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) } ?? 0
  }
}
