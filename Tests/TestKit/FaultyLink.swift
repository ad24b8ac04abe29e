import Glibc
public import PosturePlatform
import Synchronization

/// A TCP line on loopback between a client and a port that a test makes as bad as it likes.
public final class FaultyLink: Sendable {
  public enum Behaviour: Hashable, Sendable {
    case honest
    /// Everything arrives this many milliseconds late.
    case delayed(Int64)
    /// Byte by byte, this many milliseconds apart.
    case trickled(Int64)
    /// Connections come about and stay, and nothing is passed on.
    case halfOpen
  }

  private struct State {
    var behaviour = Behaviour.honest
    var target: UInt16
    /// Bytes that are still passed on before every connection is reset; nil: all.
    var left: Int?
    var cuts = 0
    var bytes = 0
    var isOver = false
  }

  public let port: UInt16
  private let state: Mutex<State>
  private let waker: Waker

  public init(to target: UInt16) throws(SystemError) {
    let listener = try Loopback.listen()
    port = Loopback.port(of: listener)
    state = Mutex(State(target: target))
    waker = try Waker()
    let number = listener.release()
    _ = try Thread.start("link") { [weak self] in
      let traffic = Traffic(number)
      while let self, !self.state.withLock({ $0.isOver }) { self.turn(traffic) }
    }
  }

  deinit { stop() }

  public func stop() { set { $0.isOver = true } }

  private func set(_ body: (inout State) -> Void) {
    state.withLock { body(&$0) }
    waker.wake()
  }

  public func behave(_ behaviour: Behaviour) { set { $0.behaviour = behaviour } }

  /// New connections lead there.
  public func lead(to target: UInt16) { set { $0.target = target } }

  /// Passes `count` more bytes on, then resets every connection, in the middle of whatever it is; 0: at once.
  public func cut(after count: Int) { set { $0.left = count } }

  public var cuts: Int { state.withLock { $0.cuts } }
  /// Passed on so far.
  public var bytes: Int { state.withLock { $0.bytes } }

  // MARK: The thread

  /// One direction of one connection.
  private struct Way {
    var from: Int32
    var to: Int32
    /// What waits, and until when.
    var queue: [(due: Int64, bytes: ArraySlice<UInt8>)] = []
    var size = 0
    static let cap = 1 << 20
  }

  private final class Traffic {
    let listener: Descriptor
    var ways: [Way] = []
    init(_ listener: Int32) { self.listener = Descriptor(owning: listener) }
    deinit { closeAll() }

    func closeAll() {
      var reset = linger(l_onoff: 1, l_linger: 0)
      for number in Set(ways.map(\.from)) {
        setsockopt(number, SOL_SOCKET, SO_LINGER, &reset, socklen_t(MemoryLayout<linger>.size))
        close(number)
      }
      ways = []
    }
  }

  private func turn(_ traffic: Traffic) {
    let behaviour = state.withLock { $0.behaviour }
    let now = Clock.monotonicMilliseconds
    var polled = [traffic.listener.number, waker.number].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    for way in traffic.ways {
      // A half-open line takes what the kernel holds for it, and no more.
      let isReadable = behaviour != .halfOpen && way.size < Way.cap
      polled.append(pollfd(fd: way.from, events: isReadable ? Int16(POLLIN) : 0, revents: 0))
    }
    let due = traffic.ways.compactMap { $0.queue.first?.due }.min().map { max(1, $0 - now) } ?? 100
    _ = poll(&polled, nfds_t(polled.count), Int32(min(due, 100)))
    waker.clear()
    var ended: Set<Int32> = []
    for (at, event) in polled.dropFirst(2).enumerated() {
      let gone = event.revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 && event.revents & Int16(POLLIN) == 0
      if gone || (event.revents & Int16(POLLIN) != 0 && !read(&traffic.ways[at], behaviour)) {
        // What was said before the end still arrives.
        for index in traffic.ways[at].queue.indices { traffic.ways[at].queue[index].due = now }
        ended.formUnion([traffic.ways[at].from, traffic.ways[at].to])
      }
    }
    if isCut(0) { return traffic.closeAll() }
    if behaviour != .halfOpen { ended.formUnion(passOn(traffic)) }
    for number in ended { close(number) }
    traffic.ways.removeAll { ended.contains($0.from) || ended.contains($0.to) }
    if polled[0].revents != 0 { accept(traffic) }
  }

  private func accept(_ traffic: Traffic) {
    let client = Glibc.accept(traffic.listener.number, nil, nil)
    guard client >= 0 else { return }
    guard let server = try? Loopback.connect(state.withLock { $0.target }).release() else {
      close(client)
      return
    }
    traffic.ways += [Way(from: client, to: server), Way(from: server, to: client)]
  }

  /// False at the end.
  private func read(_ way: inout Way, _ behaviour: Behaviour) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    let count = recv(way.from, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    guard count > 0 else { return count < 0 && errno == EAGAIN }
    let now = Clock.monotonicMilliseconds
    way.size += count
    switch behaviour {
    case .honest, .halfOpen: way.queue.append((now, buffer[..<count]))
    case .delayed(let delay): way.queue.append((now + delay, buffer[..<count]))
    case .trickled(let pause):
      var due = max(now, way.queue.last?.due ?? now)
      for at in 0..<count {
        way.queue.append((due, buffer[at..<(at + 1)]))
        due += pause
      }
    }
    return true
  }

  /// The numbers of connections that went.
  private func passOn(_ traffic: Traffic) -> Set<Int32> {
    let now = Clock.monotonicMilliseconds
    var ended: Set<Int32> = []
    for at in traffic.ways.indices {
      var done = 0
      while done < traffic.ways[at].queue.count, traffic.ways[at].queue[done].due <= now {
        let bytes = traffic.ways[at].queue[done].bytes
        let allowed = state.withLock { min($0.left ?? .max, bytes.count) }
        if !send(bytes.prefix(allowed), traffic.ways[at].to) {
          ended.formUnion([traffic.ways[at].from, traffic.ways[at].to])
          break
        }
        traffic.ways[at].size -= bytes.count
        done += 1
        if isCut(allowed) {
          traffic.closeAll()
          return []
        }
      }
      traffic.ways[at].queue.removeFirst(done)
    }
    return ended
  }

  /// Whether those were the last bytes.
  private func isCut(_ passed: Int) -> Bool {
    state.withLock { state in
      state.bytes += passed
      guard let left = state.left else { return false }
      state.left = left - passed
      guard left - passed <= 0 else { return false }
      state.left = nil
      state.cuts += 1
      return true
    }
  }

  private func send(_ bytes: ArraySlice<UInt8>, _ to: Int32) -> Bool {
    var left = bytes
    while !left.isEmpty {
      let count = left.withUnsafeBytes { Glibc.send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      left = left.dropFirst(count)
    }
    return true
  }
}
