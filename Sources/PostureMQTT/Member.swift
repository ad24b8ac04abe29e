import CLinux
import Glibc
import PosturePlatform

/// One client as its loop's thread sees it: the session, and the connection that does what it decides.
final class Member {
  private let settings: Client.Settings
  private let receiver: Loop.Receiver
  private var session: Session
  private var connection: Mosquitto? {
    // The next one may get the descriptor of the last.
    didSet { watched = nil }
  }
  /// What the loop was last told to wait for.
  private var watched: (descriptor: Int32, events: UInt32)?
  private var preparation: Client.Preparation
  /// Seconds; the broker may have ordered another than ours.
  private(set) var keepalive: Int
  private var heardAt: Int64 = 0
  private var spokeAt: Int64 = 0
  private var attempts = 0
  private var pending: [Session.Event] = []
  private var isHandling = false

  init(_ settings: Client.Settings, _ receiver: Loop.Receiver) {
    self.settings = settings
    self.receiver = receiver
    session = Session(settings.session, seed: UInt64.random(in: 0...UInt64.max))
    preparation = Client.Preparation(will: nil, checksDates: settings.checksDates)
    keepalive = settings.keepalive
  }

  // MARK: What to wait for

  /// The socket and its events, where they are others than the last time; nil where there is no socket.
  func newInterest() -> (descriptor: Int32, events: UInt32)? {
    guard let connection, connection.descriptor >= 0 else { return nil }
    let input = receiver.isFull() ? 0 : UInt32(POLLIN)
    let interest = (connection.descriptor, input | (connection.wantsWrite ? UInt32(POLLOUT) : 0))
    if let watched, watched == interest { return nil }
    watched = interest
    return interest
  }

  var deadline: Int64? {
    guard session.isAttached, connection != nil, let pingAt else { return session.deadline }
    return min(pingAt, session.deadline ?? pingAt)
  }

  /// When the library pings, or gives the last ping up: it counts whole seconds, from the last packet either way.
  private var pingAt: Int64? {
    guard keepalive > 0, session.isConnected, !receiver.isFull() else { return nil }
    return (min(heardAt, spokeAt) / 1_000 + Int64(keepalive)) * 1_000
  }

  // MARK: What happens

  func prepare(_ preparation: Client.Preparation) {
    self.preparation = preparation
    handle(.prepared)
  }

  func proceed(_ events: UInt32) {
    guard let connection else { return }
    let (isReadable, isWritable) = (events & UInt32(POLLIN) != 0, events & UInt32(POLLOUT) != 0)
    let now = Clock.monotonicMilliseconds
    if isReadable { heardAt = now }
    if isWritable { spokeAt = now }
    take(
      connection.proceed(
        readable: isReadable, writable: isWritable, failed: events & UInt32(POLLERR | POLLHUP) != 0))
  }

  func meet(_ now: Int64) {
    if let connection, let pingAt, now >= pingAt {
      (heardAt, spokeAt) = (now, now)
      take(connection.keepAlive())
    }
    handle(.time)
  }

  private func take(_ happenings: [Mosquitto.Happening]) {
    for happening in happenings {
      switch happening {
      case .connack(let connack, let ordered):
        keepalive = ordered ?? settings.keepalive
        handle(.connack(connack))
      case .suback(let identifier, let codes): handle(.suback(identifier: identifier, codes: codes))
      case .puback(let identifier, let reason): handle(.puback(identifier: identifier, reason))
      case .message(let message): receiver.put(.message(message))
      case .dropped: receiver.put(.dropped)
      case .lost(let loss):
        connection = nil
        handle(.lost(loss))
      }
    }
  }

  /// Gives the event to the session and does what it says, which may bring further events.
  func handle(_ event: Session.Event) {
    pending.append(event)
    guard !isHandling else { return }
    isHandling = true
    defer { isHandling = false }
    while !pending.isEmpty {
      for action in session.handle(pending.removeFirst(), at: Clock.monotonicMilliseconds) { perform(action) }
    }
  }

  // MARK: What the session decides

  private func perform(_ action: Session.Action) {
    switch action {
    case .prepare: receiver.put(.prepare)
    case .connect(let version): connect(version)
    case .subscribe(let subscription): subscribe(subscription)
    case .send(let publication, let ticket): send(publication, ticket)
    case .complete(let ticket, let outcome): receiver.put(.completed(ticket, outcome))
    case .online(let connack): receiver.put(.online(connack))
    case .refused(let subscription, let reason): receiver.put(.refused(subscription, reason))
    case .offline(let loss, let delay): receiver.put(.offline(loss, retryIn: delay))
    case .leave: if let connection { take(connection.leave()) }
    case .close: connection = nil
    case .ended:
      connection = nil
      receiver.put(.ended)
    }
  }

  private func connect(_ version: ProtocolVersion) {
    connection = nil
    attempts += 1
    let now = Clock.monotonicMilliseconds
    (heardAt, spokeAt, keepalive) = (now, now, settings.keepalive)
    do throws(Loss) { connection = try connected(version) } catch { handle(.lost(error)) }
  }

  private func connected(_ version: ProtocolVersion) throws(Loss) -> Mosquitto {
    do {
      let connection = try Mosquitto(clientID: settings.clientID, version: version)
      if let user = settings.user { try connection.setCredentials(user.name, user.password) }
      if let will = preparation.will { try connection.setWill(will) }
      switch settings.server {
      case .tls(let host, let port, let files):
        try connection.use(try TLSContext(files, host: host, checksDates: preparation.checksDates))
        try connection.connect(try address(of: host), port, keepalive: settings.keepalive)
      case .plain(let host, let port):
        try connection.connect(try address(of: host), port, keepalive: settings.keepalive)
      case .unix(let path): try connection.connect(path, 0, keepalive: settings.keepalive)
      }
      return connection
    } catch let error as Mosquitto.Refusal {
      throw Loss(.transport, error.text)
    } catch {
      throw Loss(.transport, "\(error)")
    }
  }

  /// The library tries one address of a name only: the next attempt takes the next.
  private func address(of host: String) throws(MQTTError) -> String {
    let addresses = try Resolver.addresses(of: host)
    return addresses[(attempts - 1) % addresses.count]
  }

  private func subscribe(_ subscription: Subscription) {
    guard let connection else { return }
    do throws(Mosquitto.Refusal) {
      handle(.subscribing(subscription, identifier: try connection.subscribe(subscription)))
    } catch { drop(error) }
    spokeAt = Clock.monotonicMilliseconds
  }

  private func send(_ publication: Publication, _ ticket: Session.Ticket) {
    guard let connection else { return handle(.unsent(ticket, "not connected")) }
    do throws(Mosquitto.Refusal) {
      let identifier = try connection.publish(publication)
      handle(.sent(ticket, identifier: identifier))
    } catch { handle(.unsent(ticket, error.text)) }
    spokeAt = Clock.monotonicMilliseconds
  }

  private func drop(_ refusal: Mosquitto.Refusal) {
    // A broker may say farewell in the same breath as welcome: its reason comes next, and is the better one.
    guard connection?.isOver != true else { return }
    connection = nil
    handle(.lost(Loss(.closed, refusal.text)))
  }
}

/// Names to addresses, by the system's resolver; it may take seconds, and the loop's other clients with it.
enum Resolver {
  /// Numeric addresses in the system's order of preference.
  static func addresses(of host: String) throws(MQTTError) -> [String] {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let failure = getaddrinfo(host, nil, &hints, &list)
    guard failure == 0, let list else { throw MQTTError("\(host): \(String(cString: gai_strerror(failure)))") }
    defer { freeaddrinfo(list) }
    let addresses = sequence(first: list) { $0.pointee.ai_next }.compactMap(text)
    guard !addresses.isEmpty else { throw MQTTError("\(host): no address") }
    return addresses
  }

  private static func text(_ entry: UnsafeMutablePointer<addrinfo>) -> String? {
    var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let failure = getnameinfo(
      entry.pointee.ai_addr, entry.pointee.ai_addrlen, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST)
    return failure == 0 ? name.withUnsafeBufferPointer { String(validatingCString: $0.baseAddress!) } : nil
  }
}
