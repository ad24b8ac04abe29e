import Glibc
import PosturePlatform
import Synchronization

/// How long a connection may take. Seconds.
public struct HTTPLimits: Sendable {
  /// From the beginning of a connection, or the end of a request on it, until the next request has come whole.
  public var request: Int64 = 15
  /// For an answer that is not a stream.
  public var answer: Int64 = 60
  /// Without traffic, for a stream too.
  public var silence: Int64 = 60

  public init() {}
}

/// Ends connections that take too long to say what they want, or to take what they asked for. The library's own time
/// limit is for silence alone: one byte now and then would hold a connection for ever.
final class ConnectionWatch: Sendable {
  private struct Connection {
    /// Open until ``ended(_:)`` is called.
    var socket: Int32
    /// Milliseconds of the boot clock; nil: as long as it likes.
    var deadline: Int64?
  }

  private let connections = Mutex<[UInt: Connection]>([:])
  private let isStopped = Atomic<Bool>(false)
  private let waker: Waker
  private let limits: HTTPLimits

  init(_ limits: HTTPLimits) throws(SystemError) {
    self.limits = limits
    waker = try Waker()
    _ = try Thread.start("http-watch") { [self] in run() }
  }

  /// Its thread ends a moment later.
  func stop() {
    isStopped.store(true, ordering: .releasing)
    waker.wake()
  }

  func began(_ id: UInt, socket: Int32) {
    connections.withLock { $0[id] = Connection(socket: socket, deadline: Self.after(limits.request)) }
  }

  /// The request is here, and is being worked on.
  func works(_ id: UInt) { connections.withLock { $0[id]?.deadline = nil } }

  /// The answer is here; `isStream`: it has no end.
  func answers(_ id: UInt, isStream: Bool) {
    connections.withLock { $0[id]?.deadline = isStream ? nil : Self.after(limits.answer) }
  }

  /// The answer has been taken; another request may follow.
  func answered(_ id: UInt) { connections.withLock { $0[id]?.deadline = Self.after(limits.request) } }

  func ended(_ id: UInt) { connections.withLock { $0[id] = nil } }

  private static func after(_ seconds: Int64) -> Int64 { Clock.boottimeMilliseconds + seconds * 1_000 }

  private func run() {
    while !isStopped.load(ordering: .acquiring) {
      if waker.wait(1_000) { waker.clear() }
      let now = Clock.boottimeMilliseconds
      connections.withLock { connections in
        for (id, connection) in connections where connection.deadline.map({ $0 <= now }) ?? false {
          // Its thread sees the end and cleans up.
          shutdown(connection.socket, Int32(SHUT_RDWR))
          connections[id]?.deadline = nil
        }
      }
    }
  }
}
