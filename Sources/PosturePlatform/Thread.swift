import CLinux
import Glibc

/// A thread of the system, for one C library that blocks or one loop that waits.
public struct Thread: ~Copyable, Sendable {
  private let id: pthread_t

  /// Starts `body`; `name` is what ps(1) and gdb(1) show, at most 15 bytes.
  public static func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) -> Thread {
    let box = Unmanaged.passRetained(Body(name: name, run: body))
    var id = pthread_t()
    let failure = pthread_create(
      &id, nil,
      { argument in
        // Glibc promises the argument that was passed.
        let body = Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue()
        clinux_name_thread(body.name)
        body.run()
        return nil
      }, box.toOpaque())
    guard failure == 0 else {
      box.release()
      throw SystemError(failure, doing: "start thread")
    }
    return Thread(id: id)
  }

  /// Two pieces of work at once: the first on a thread of its own, or afterwards where none can be had.
  public static func both<First: Sendable, Second>(
    _ name: String, _ first: @escaping @Sendable () -> First, _ second: () -> Second
  ) -> (First, Second) {
    let once = Once<First>()
    let thread = try? start(name) { _ = once.value(first) }
    let other = second()
    // The kernel spins for a lock that is held by somebody who runs: the thread's end costs nothing to wait for.
    if let thread { thread.join() }
    return (once.value(first), other)
  }

  private init(id: pthread_t) { self.id = id }

  deinit { pthread_detach(id) }

  /// Waits for the end of the thread.
  public consuming func join() {
    pthread_join(id, nil)
    discard self
  }

  private final class Body: Sendable {
    let name: String
    let run: @Sendable () -> Void
    init(name: String, run: @escaping @Sendable () -> Void) {
      self.name = name
      self.run = run
    }
  }
}
