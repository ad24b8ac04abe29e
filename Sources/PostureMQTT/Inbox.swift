public import PosturePlatform
import Synchronization

/// What a client tells its owner.
public enum ClientEvent: Hashable, Sendable {
  /// Give a will, if any, with ``Client/prepare(_:)``: an attempt to connect waits for it.
  case prepare
  case online(Session.Connack)
  /// Milliseconds until the next attempt.
  case offline(Loss, retryIn: Int64?)
  /// A subscription was refused; nil: answered with nonsense.
  case refused(Subscription, ReasonCode?)
  case message(Message)
  case completed(Session.Ticket, Session.Outcome)
  /// A message whose topic no broker may deliver was thrown away.
  case dropped
  case ended
}

/// A queue from a client's thread to its owner's. Past its cap of bytes the client stops reading, so that the broker
/// waits, and nothing is lost here.
public final class Inbox: Sendable {
  private struct State {
    var events = Queue<ClientEvent>()
    var bytes = 0
    var onRoom: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())
  private let waker: Waker
  private let cap: Int

  /// `cap`: bytes of payload.
  public init(cap: Int = 8 << 20) throws(SystemError) {
    self.cap = cap
    waker = try Waker()
  }

  /// Readable while there is something to take.
  public var descriptor: Int32 { waker.number }

  /// The next event; nil where none came within `milliseconds`.
  public func next(_ milliseconds: Int64 = 0) -> ClientEvent? {
    let until = Clock.monotonicMilliseconds + milliseconds
    while true {
      if let event = take() { return event }
      let left = until - Clock.monotonicMilliseconds
      guard left > 0, waker.wait(left) else { return take() }
    }
  }

  private func take() -> ClientEvent? {
    let (event, onRoom) = state.withLock { state -> (ClientEvent?, (@Sendable () -> Void)?) in
      guard let event = state.events.take() else {
        waker.clear()
        return (nil, nil)
      }
      let wasFull = state.bytes >= cap
      state.bytes -= Self.size(event)
      return (event, wasFull && state.bytes < cap ? state.onRoom : nil)
    }
    onRoom?()
    return event
  }

  func put(_ event: ClientEvent) {
    state.withLock { state in
      // Whoever takes an event takes them all before it waits again.
      if state.events.isEmpty { waker.wake() }
      state.events.put(event)
      state.bytes += Self.size(event)
    }
  }

  var isFull: Bool { state.withLock { $0.bytes >= cap } }

  func whenThereIsRoom(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onRoom = body } }

  private static func size(_ event: ClientEvent) -> Int {
    if case .message(let message) = event { 200 + message.payload.count } else { 0 }
  }
}
