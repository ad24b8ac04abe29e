import Glibc
import PosturePlatform

/// A program that the bench started. It ends with the bench, however that ends.
final class Child {
  let pid: pid_t
  private var hasEnded = false

  /// It reads from `input`, or nothing; its words go to a log, those on standard output to `output` where that is given.
  init(
    _ path: String, _ arguments: [String], log: String, input: Int32 = -1, output: Int32? = nil
  ) throws(BenchError) {
    do throws(SystemError) {
      let file = try Descriptor.open(log, O_WRONLY | O_CREAT | O_APPEND, mode: 0o600)
      pid = try Command.spawn(
        path, arguments, ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"], in: input, out: output ?? file.number,
        err: file.number)
    } catch { throw BenchError("\(error)") }
  }

  deinit { stop() }

  var isRunning: Bool {
    if !hasEnded, waitpid(pid, nil, WNOHANG) == pid { hasEnded = true }
    return !hasEnded
  }

  /// SIGTERM, and after five seconds SIGKILL.
  func stop() {
    guard isRunning else { return }
    kill(pid, SIGTERM)
    for _ in 0..<500 where isRunning { Clock.sleep(milliseconds: 10) }
    crash()
  }

  func crash() {
    guard isRunning else { return }
    kill(pid, SIGKILL)
    waitpid(pid, nil, 0)
    hasEnded = true
  }

  /// The process and those that it started.
  var family: [pid_t] {
    var parents: [pid_t: pid_t] = [:]
    for name in (try? Directory.names(in: "/proc")) ?? [] {
      if let pid = pid_t(name), let parent = ProcessReading.parent(of: pid) { parents[pid] = parent }
    }
    var family = [pid]
    var at = 0
    while at < family.count {
      family += parents.filter { $0.value == family[at] }.map(\.key)
      at += 1
    }
    return family
  }
}
