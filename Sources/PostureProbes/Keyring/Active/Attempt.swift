import Glibc
import PosturePlatform
import Synchronization

/// Keeps a kind of attempt from being made twice at once: one that hangs is not joined by a second.
final class Gate: Sendable {
  private let busy = Mutex(false)

  func enter() -> Bool {
    busy.withLock { busy in
      defer { busy = true }
      return !busy
    }
  }

  func leave() { busy.withLock { $0 = false } }
}

/// Work on a thread of its own, which is waited for only so long.
///
/// A C library that hangs cannot be stopped: its thread is left behind, and its gate stays shut until it comes back.
final class Attempt<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)
  /// Readable once the value is there.
  private let pipe: Pipe

  /// nil where the last attempt at this gate still hangs, or no thread can be had.
  init?(_ gate: Gate, _ name: String, _ work: @escaping @Sendable () -> Value) {
    guard gate.enter() else { return nil }
    do throws(SystemError) {
      pipe = try Pipe()
    } catch {
      gate.leave()
      return nil
    }
    do throws(SystemError) {
      _ = try Thread.start(name) { [self] in
        let result = work()
        value.withLock { $0 = result }
        gate.leave()
        _ = write(pipe.writer.number, [0], 1)
      }
    } catch {
      gate.leave()
      return nil
    }
  }

  /// The value, or nil where it is not there at `deadline` (``Clock/boottimeMilliseconds``).
  func wait(until deadline: Int64) -> Value? {
    while true {
      if let value = value.withLock({ $0 }) { return value }
      let left = deadline - Clock.boottimeMilliseconds
      guard left > 0 else { return nil }
      var polled = pollfd(fd: pipe.reader.number, events: Int16(POLLIN), revents: 0)
      poll(&polled, 1, Int32(min(left, 60_000)))
    }
  }
}
