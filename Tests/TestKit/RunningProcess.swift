public import Glibc
public import PosturePlatform
import Synchronization

/// A program that a test started and that ends with it. Its output goes to a file.
///
/// It is started by a thread of its own, which waits for it: a child of ours dies with the thread that started it.
public final class RunningProcess: Sendable {
  private struct State {
    var pid: pid_t?
    var failure: SystemError?
    var status: Int32?
  }

  private final class Shared: Sendable {
    let state = Mutex(State())
    let started: Waker
    let ended: Waker
    init() throws(SystemError) {
      started = try Waker()
      ended = try Waker()
    }
  }

  private let shared: Shared
  public let pid: pid_t

  public init(
    _ path: String, _ arguments: [String], log: String, environment: [String] = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
  )
    throws(SystemError)
  {
    let shared = try Shared()
    self.shared = shared
    _ = try Thread.start("spawn") {
      Self.run(path, arguments, environment, log, shared)
    }
    _ = shared.started.wait(nil)
    let (pid, failure) = shared.state.withLock { ($0.pid, $0.failure) }
    guard let pid else { throw failure ?? SystemError(ECHILD, doing: "start", path: path) }
    self.pid = pid
  }

  private static func run(
    _ path: String, _ arguments: [String], _ environment: [String], _ log: String, _ shared: Shared
  ) {
    do throws(SystemError) {
      let file = try Descriptor.open(log, O_WRONLY | O_CREAT | O_APPEND, mode: 0o600)
      let pid = try Command.spawn(path, arguments, environment, in: -1, out: file.number, err: file.number)
      shared.state.withLock { $0.pid = pid }
      shared.started.wake()
      let status = try Command.wait(pid)
      shared.state.withLock { $0.status = status }
    } catch {
      shared.state.withLock { $0.failure = error }
      shared.started.wake()
    }
    shared.ended.wake()
  }

  deinit { sendToAll(SIGKILL) }

  /// nil while it runs.
  public var status: Int32? { shared.state.withLock { $0.status } }

  public func send(_ signal: Int32) { if status == nil { kill(pid, signal) } }

  /// Also to what it started itself in its session: a shell's pipe is more than the shell.
  private func sendToAll(_ signal: Int32) { if status == nil { kill(-pid, signal) } }

  /// Exit status or 128 + the signal; nil where it has not ended within `milliseconds`.
  @discardableResult
  public func wait(_ milliseconds: Int64 = 5_000) -> Int32? {
    _ = shared.ended.wait(milliseconds)
    return status
  }

  /// SIGTERM, and SIGKILL where that is not enough.
  public func stop() {
    sendToAll(SIGTERM)
    guard wait() == nil else { return }
    sendToAll(SIGKILL)
    wait()
  }

  /// kill -9.
  public func crash() {
    sendToAll(SIGKILL)
    wait()
  }
}
