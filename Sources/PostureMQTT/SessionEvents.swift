/// What goes into a session and what comes out of it.
extension Session {
  public struct Settings: Hashable, Sendable {
    public var subscriptions: [Subscription] = []
    /// The client is asked for a will before every attempt (``Action/prepare``).
    public var preparesEachAttempt = false
    /// Milliseconds from the first packet to CONNACK.
    public var connectTimeout: Int64 = 20_000
    /// Milliseconds for the answer to a SUBSCRIBE or a PUBLISH.
    public var answerTimeout: Int64 = 30_000
    /// Milliseconds for the last message and DISCONNECT.
    public var leaveTimeout: Int64 = 500
    /// QoS 1 messages on the way at once; the broker's receive maximum may lower it.
    public var window = 32
    /// Messages that wait for the window.
    public var queueCap = 256
    public var backoff = Backoff()

    public init() {}
  }

  /// Names one message from ``Event/publish(_:_:)`` to its one ``Action/complete(_:_:)``.
  public typealias Ticket = UInt64

  public enum Event: Hashable, Sendable {
    case start
    /// The will is in place, or there is none.
    case prepared
    case connack(Connack)
    /// The packet identifier of a SUBSCRIBE that was written.
    case subscribing(Subscription, identifier: Int32)
    case suback(identifier: Int32, codes: [UInt8])
    case publish(Publication, Ticket)
    /// The packet identifier of a PUBLISH that was written.
    case sent(Ticket, identifier: Int32)
    /// The library refused to write it.
    case unsent(Ticket, String)
    case puback(identifier: Int32, ReasonCode)
    case lost(Loss)
    /// The machine slept.
    case slept
    /// The time given with the event is all there is to know.
    case time
    /// Publish the last message, if connected, and end.
    case stop(last: Publication?)
  }

  public enum Action: Hashable, Sendable {
    case prepare
    case connect(ProtocolVersion)
    case subscribe(Subscription)
    case send(Publication, Ticket)
    case complete(Ticket, Outcome)
    /// Every subscription has been answered: messages may be published.
    case online(Connack)
    case refused(Subscription, ReasonCode?)
    /// Milliseconds until the next attempt; nil after which there is none.
    case offline(Loss, retryIn: Int64?)
    /// Send DISCONNECT.
    case leave
    /// Drop the connection, whatever is under way on it.
    case close
    case ended
  }

  public struct Connack: Hashable, Sendable {
    public var reason: ReasonCode
    public var version: ProtocolVersion
    public var sessionPresent: Bool
    /// MQTT 5: how many QoS 1 messages the broker takes at once.
    public var receiveMaximum: Int?

    public init(
      _ reason: ReasonCode, _ version: ProtocolVersion, sessionPresent: Bool = false, receiveMaximum: Int? = nil
    ) {
      self.reason = reason
      self.version = version
      self.sessionPresent = sessionPresent
      self.receiveMaximum = receiveMaximum
    }
  }

  /// What became of a message.
  public enum Outcome: Hashable, Sendable {
    /// The broker has taken it (QoS 0: it was written).
    case taken
    /// The broker refused it.
    case refused(ReasonCode)
    /// The connection ended first: the broker may or may not have it.
    case lost
    /// It was never written.
    case unsent(String)
  }
}
