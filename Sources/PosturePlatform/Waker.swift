import CLinux
import Glibc

/// An eventfd(2): any thread may signal it, one waits for it in poll(2) or epoll(7).
public struct Waker: ~Copyable, Sendable {
  private let file: Descriptor

  public init() throws(SystemError) { file = Descriptor(owning: try retrying("eventfd") { clinux_eventfd() }) }

  /// Readable once ``wake()`` was called, until ``clear()``.
  public var number: Int32 { file.number }

  public func wake() {
    var one: UInt64 = 1
    // The counter is full only if it is readable already.
    _ = write(file.number, &one, 8)
  }

  public func clear() {
    var count: UInt64 = 0
    _ = read(file.number, &count, 8)
  }

  /// Waits at most `milliseconds` (nil: for ever) and says whether it was woken; the signal is not cleared.
  public func wait(_ milliseconds: Int64?) -> Bool {
    var polled = pollfd(fd: file.number, events: Int16(POLLIN), revents: 0)
    return poll(&polled, 1, milliseconds.map { Int32(clamping: max(0, $0)) } ?? -1) > 0
  }
}
