public import Posture
import PosturePlatform
public import PostureMQTT

/// Why the broker could not be reached or did not do what was asked.
public struct LinkError: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String
}

/// A connection of an operator's tool: waits, reads and publishes with time limits.
public final class OperatorLink {
  private let client: Client
  private let inbox: Inbox
  private let place: String
  private var queued = Queue<Message>()

  /// Starts to connect to the operators' listener in this role.
  public init(_ home: Home, as role: Role, subscribe filters: [String], keepalive: Int = 30) throws(LinkError) {
    let settings = home.settings
    place = "\(settings.host):\(settings.operatorPort)"
    var options = Client.Settings(
      .tls(host: settings.host, port: settings.operatorPort, Identity.tls(role, in: home)),
      clientID: Self.clientID(role))
    // mosquitto takes the name from the certificate; other brokers want it said, and compare.
    options.user = (role.rawValue, "")
    options.keepalive = keepalive
    options.session.subscriptions = filters.map { Subscription($0) }
    options.session.connectTimeout = 10_000
    do throws(SystemError) {
      inbox = try Inbox(cap: 64 << 20)
      client = try Client(options, inbox: inbox)
    } catch { throw LinkError(description: error.description) }
  }

  deinit { client.stop() }

  /// Any number of tools run with one identity.
  private static func clientID(_ role: Role) -> String {
    "\(role.rawValue)-"
      + Random.bytes(8).map { byte in
        let hex = String(byte, radix: 16)
        return hex.count == 1 ? "0\(hex)" : hex
      }.joined()
  }

  /// Waits for the connection; the first refusal or failure ends it, for a person wants to know.
  public func waitOnline(_ milliseconds: Int64 = 15_000) throws(LinkError) {
    let until = Clock.boottimeMilliseconds + milliseconds
    while true {
      switch inbox.next(max(0, until - Clock.boottimeMilliseconds)) {
      case .online: return
      case .message(let message): queued.put(message)
      case .offline(let loss, _): throw LinkError(description: "broker \(place): \(loss)")
      case .refused(let subscription, let code): throw refusal(subscription, code)
      case .ended: throw LinkError(description: "broker \(place): ended")
      case nil: throw LinkError(description: "broker \(place): no answer")
      case .prepare, .completed, .dropped: continue
      }
    }
  }

  private func refusal(_ subscription: Subscription, _ code: ReasonCode?) -> LinkError {
    LinkError(
      description:
        "broker \(place): subscription to \(subscription.filter) refused: \(code?.description ?? "no reason")")
  }

  public enum Happening: Sendable {
    case message(Message)
    /// The connection was lost; it comes back by itself.
    case offline(String)
    case online
    case nothing
  }

  /// The next thing that happens within the time.
  public func next(_ milliseconds: Int64) -> Happening {
    if let message = queued.take() { return .message(message) }
    let until = Clock.boottimeMilliseconds + milliseconds
    while true {
      switch inbox.next(max(0, until - Clock.boottimeMilliseconds)) {
      case .message(let message): return .message(message)
      case .offline(let loss, _): return .offline("broker \(place): \(loss)")
      case .refused(let subscription, let code): return .offline(refusal(subscription, code).description)
      case .online: return .online
      case .ended: return .offline("ended")
      case .prepare, .completed, .dropped: continue
      case nil: return .nothing
      }
    }
  }

  /// Milliseconds in which the broker sends what it keeps of even the largest site.
  public static let longestGathering: Int64 = 120_000

  /// Takes what the broker keeps: it sends it right after the subscription, and then none of it for `quiet`
  /// milliseconds, whatever else comes. `isAll`: asked before each wait, whether nothing more is wanted.
  ///
  /// False where the broker was still at it after `cap` milliseconds.
  public func gather(
    quiet: Int64 = 300, cap: Int64 = longestGathering, until isAll: () -> Bool = { false }, _ body: (Message) -> Void
  ) throws(LinkError) -> Bool {
    let end = Clock.boottimeMilliseconds + cap
    // The broker sends the first of what it kept right away; an empty site has nothing to wait for.
    var silence = Clock.boottimeMilliseconds + 1_000
    while !isAll() {
      guard Clock.boottimeMilliseconds < end else { return false }
      switch next(max(0, silence - Clock.boottimeMilliseconds)) {
      case .message(let message):
        body(message)
        if message.retained { silence = Clock.boottimeMilliseconds + quiet }
      case .offline(let why): throw LinkError(description: why)
      case .online: continue
      case .nothing: return true
      }
    }
    return true
  }

  /// Publishes and waits until the broker has taken it. Messages that come meanwhile are kept for ``next(_:)``.
  public func publish(_ publication: Publication, _ milliseconds: Int64 = 15_000) throws(LinkError) {
    let ticket = client.publish(publication)
    let until = Clock.boottimeMilliseconds + milliseconds
    while true {
      switch inbox.next(max(0, until - Clock.boottimeMilliseconds)) {
      case .completed(ticket, .taken): return
      case .completed(ticket, .refused(let code)):
        throw LinkError(description: "broker \(place): \(publication.topic): \(code)")
      case .completed(ticket, .lost), .completed(ticket, .unsent):
        throw LinkError(description: "broker \(place): \(publication.topic): the connection was lost")
      case .message(let message): queued.put(message)
      case nil: throw LinkError(description: "broker \(place): \(publication.topic): not acknowledged")
      default: continue
      }
    }
  }

  /// Says goodbye and waits for it.
  public func close() {
    client.stop()
    let until = Clock.boottimeMilliseconds + 1_000
    while Clock.boottimeMilliseconds < until {
      if case .ended = inbox.next(100) { return }
    }
  }
}
