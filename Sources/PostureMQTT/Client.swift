public import PosturePlatform
import Synchronization

/// A client of one broker: it stays connected by itself (``Session``), on the thread of its ``Loop``.
public final class Client: Sendable {
  public enum Server: Hashable, Sendable {
    case tls(host: String, port: UInt16, TLSFiles)
    /// Without protection: for a broker on this machine.
    case plain(host: String, port: UInt16)
    /// A Unix socket.
    case unix(path: String)
  }

  public struct Settings: Sendable {
    public var server: Server
    /// nil: the broker chooses one, so that any number of clients may run.
    public var clientID: String?
    public var user: (name: String, password: String)?
    /// Seconds; at least 5. A dead link is noticed within twice this time and a second.
    public var keepalive = 60
    /// The broker's certificate must be valid today.
    public var checksDates = true
    public var session = Session.Settings()

    public init(_ server: Server, clientID: String? = nil) {
      self.server = server
      self.clientID = clientID
    }
  }

  /// What an attempt to connect needs to know (``ClientEvent/prepare``).
  public struct Preparation: Sendable {
    /// What the broker publishes when the connection breaks.
    public var will: Publication?
    public var checksDates: Bool

    public init(will: Publication?, checksDates: Bool = true) {
      self.will = will
      self.checksDates = checksDates
    }
  }

  private struct State {
    var nextTicket: Session.Ticket = 1
    var completions: [Session.Ticket: @Sendable (Session.Outcome) -> Void] = [:]
  }

  private let loop: Loop
  private let id: UInt64
  private let state: Shared

  /// What the loop's thread and the owner both touch.
  private final class Shared: Sendable {
    let state = Mutex(State())
  }

  /// Starts at once. Without `loop` it gets a thread of its own.
  public convenience init(_ settings: Settings, on loop: Loop? = nil, inbox: Inbox) throws(SystemError) {
    try self.init(settings, loop, put: inbox.put, isFull: { inbox.isFull })
    let (mailbox, id) = (self.loop.mailbox, id)
    inbox.whenThereIsRoom { mailbox.post(.look(id)) }
  }

  /// For one of very many on one loop: `receive` is called on the loop's thread, from before this returns, and must not
  /// wait.
  public convenience init(
    _ settings: Settings, on loop: Loop, receive: @escaping @Sendable (ClientEvent) -> Void
  ) throws(SystemError) {
    try self.init(settings, loop, put: receive, isFull: { false })
  }

  private init(
    _ settings: Settings, _ loop: Loop?, put: @escaping @Sendable (ClientEvent) -> Void,
    isFull: @escaping @Sendable () -> Bool
  ) throws(SystemError) {
    let shared = Shared()
    if let loop { self.loop = loop } else { self.loop = try Loop() }
    state = shared
    id = self.loop.add(settings, Loop.Receiver(put: { Self.deliver($0, shared, put) }, isFull: isFull))
    self.loop.mailbox.post(.event(id, .start))
  }

  deinit { loop.mailbox.post(.remove(id)) }

  private static func deliver(_ event: ClientEvent, _ shared: Shared, _ put: (ClientEvent) -> Void) {
    guard case .completed(let ticket, let outcome) = event,
      let completion = shared.state.withLock({ $0.completions.removeValue(forKey: ticket) })
    else { return put(event) }
    completion(outcome)
  }

  /// Publishes; what becomes of it arrives as ``ClientEvent/completed(_:_:)`` or, if given, at `then`, which is called
  /// once, on the client's thread, and must not wait.
  @discardableResult
  public func publish(
    _ publication: Publication, then: (@Sendable (Session.Outcome) -> Void)? = nil
  ) -> Session.Ticket {
    let ticket = state.state.withLock { state in
      defer { state.nextTicket += 1 }
      if let then { state.completions[state.nextTicket] = then }
      return state.nextTicket
    }
    loop.mailbox.post(.event(id, .publish(publication, ticket)))
    return ticket
  }

  /// Answers ``ClientEvent/prepare``.
  public func prepare(_ preparation: Preparation) { loop.mailbox.post(.prepare(id, preparation)) }

  /// Has the thread look whether this machine has slept, now instead of at its next deadline.
  public func noticeSleep() { loop.mailbox.post(.look(id)) }

  /// Publishes `last`, if connected, disconnects without firing the will, and ends with ``ClientEvent/ended``; within
  /// the session's leave timeout whatever the broker does.
  public func stop(last: Publication? = nil) { loop.mailbox.post(.event(id, .stop(last: last))) }
}
