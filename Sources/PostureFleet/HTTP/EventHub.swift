import PosturePlatform
import Synchronization

/// Live updates for those who look: server-sent events (WHATWG HTML, 9.2).
public final class EventHub: Sendable {
  private let readers = Mutex<[ObjectIdentifier: Reader]>([:])
  private let isClosed = Atomic<Bool>(false)

  /// Readers at once: each holds a connection, and others want some, too.
  private static let cap = 64

  public init() {}

  public var count: Int { readers.withLock { $0.count } }

  /// To everybody; one who does not keep up is told to start anew.
  public func send(_ event: String, _ data: String) {
    let text = Array("event: \(event)\ndata: \(data)\n\n".utf8)
    for reader in readers.withLock({ Array($0.values) }) { reader.put(text) }
  }

  /// A new reader; nil once closed, or while there are as many as can be.
  public func join() -> (any HTTPStream)? {
    guard !isClosed.load(ordering: .acquiring), let reader = try? Reader(self) else { return nil }
    let hasRoom = readers.withLock { readers in
      if readers.count < Self.cap { readers[ObjectIdentifier(reader)] = reader }
      return readers[ObjectIdentifier(reader)] != nil
    }
    guard hasRoom else { return nil }
    reader.put(Array("retry: 3000\n\n".utf8))
    return reader
  }

  /// Ends every stream.
  public func close() {
    isClosed.store(true, ordering: .releasing)
    for reader in readers.withLock({ Array($0.values) }) { reader.end() }
  }

  private func leave(_ reader: Reader) { readers.withLock { $0[ObjectIdentifier(reader)] = nil } }

  private final class Reader: HTTPStream {
    /// Bytes that wait for a slow reader.
    private static let cap = 256 << 10
    /// Milliseconds after which a comment keeps proxies, and us, sure of each other.
    private static let heartbeat: Int64 = 15_000

    private struct State {
      var bytes: [UInt8] = []
      var isEnded = false
    }

    private let state = Mutex(State())
    private let waker: Waker
    private let hub: EventHub

    init(_ hub: EventHub) throws(SystemError) {
      self.hub = hub
      waker = try Waker()
    }

    func put(_ text: [UInt8]) {
      state.withLock { state in
        if state.bytes.count + text.count > Self.cap { state.bytes = Array("event: reset\ndata: {}\n\n".utf8) }
        state.bytes += text
      }
      waker.wake()
    }

    func end() {
      state.withLock { $0.isEnded = true }
      waker.wake()
    }

    func read() -> [UInt8]? {
      let woken = waker.wait(Self.heartbeat)
      waker.clear()
      return state.withLock { state in
        if state.isEnded { return nil }
        defer { state.bytes = [] }
        return state.bytes.isEmpty ? (woken ? Array(":\n\n".utf8) : Array(": still here\n\n".utf8)) : state.bytes
      }
    }

    func close() { hub.leave(self) }
  }
}
