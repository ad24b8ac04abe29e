import PostureMQTT
import PosturePlatform
import Synchronization

/// Somebody at the broker's own door who may publish anything and sees what it keeps.
final class Hand: Sendable {
  private struct State {
    var isOnline = false
    var kept: [String: String] = [:]
    var taken = 0
  }

  let path: String
  private let state = Mutex(State())
  private let client: Client
  private let inbox: Inbox
  private let arrived: Waker

  init(_ path: String) throws {
    self.path = path
    inbox = try Inbox(cap: 64 << 20)
    arrived = try Waker()
    var settings = Client.Settings(.unix(path: path))
    settings.session.subscriptions = [Subscription("posture/v1/#")]
    settings.session.backoff.soon = 20
    settings.session.backoff.soonCap = 50
    settings.session.queueCap = 20_000
    client = try Client(settings, inbox: inbox)
    let inbox = inbox
    _ = try Thread.start("hand") { [weak self] in
      while let self { if let event = inbox.next(200) { self.take(event) } }
    }
  }

  private func take(_ event: ClientEvent) {
    state.withLock { state in
      switch event {
      case .online: state.isOnline = true
      case .offline: (state.isOnline, state.kept) = (false, [:])
      case .completed(_, .taken): state.taken += 1
      case .message(let message):
        // What comes now is what would be kept, on topics that are.
        state.kept[message.topic] = message.text
      default: break
      }
    }
    arrived.wake()
  }

  /// Messages that the broker has taken.
  var taken: Int { state.withLock { $0.taken } }

  func publish(_ publication: Publication) { client.publish(publication) }

  func waitOnline(_ milliseconds: Int64) -> Bool { wait(milliseconds) { $0.isOnline } }

  /// The last message on a topic, as the broker keeps it, once `isIt` takes it.
  func kept(_ topic: String, _ milliseconds: Int64, _ isIt: (String) -> Bool = { _ in true }) -> String? {
    _ = wait(milliseconds) { $0.kept[topic].map(isIt) ?? false }
    return state.withLock { $0.kept[topic] }
  }

  private func wait(_ milliseconds: Int64, _ isSo: (State) -> Bool) -> Bool {
    let until = Clock.monotonicMilliseconds + milliseconds
    while !isSo(state.withLock { $0 }) {
      guard Clock.monotonicMilliseconds < until else { return false }
      _ = arrived.wait(20)
      arrived.clear()
    }
    return true
  }
}
