import Posture
import PostureMQTT
import PosturePlatform
import PostureTokens
import Synchronization

/// Counts of a whole simulated fleet.
final class Tally: Sendable {
  struct Counts {
    var online = 0
    var offline = 0
    /// Messages that the broker has taken, and those that it has not.
    var taken = 0
    var failed = 0
    /// Commands that verified, and those that did not.
    var obeyed = 0
    var refused = 0
  }

  private let state = Mutex(Counts())

  var counts: Counts { state.withLock { $0 } }
  func count(_ body: (inout Counts) -> Void) { state.withLock { body(&$0) } }
}

/// A device without a machine: the product's client, codec and verifier, and evidence that was recorded.
final class SimulatedDevice: Sendable {
  private struct State {
    var client: Client?
    var sequence: Int64 = 1
  }

  let kit: DeviceKit
  private let verifier: DeviceVerifier
  private let tally: Tally
  private let state = Mutex(State())

  init(_ kit: DeviceKit, trust: TrustStore, _ tally: Tally) {
    self.kit = kit
    self.tally = tally
    verifier = DeviceVerifier(device: kit.party, groups: [], trust: trust)
  }

  /// Everything that follows happens on the loop's thread.
  func connect(to port: UInt16, on loop: Loop) throws(SystemError) {
    var settings = Client.Settings(
      .tls(host: "127.0.0.1", port: port, kit.tls), clientID: kit.party.name.description)
    settings.session.preparesEachAttempt = true
    settings.session.subscriptions = [Subscription(Topic(kit.party.site, .trust).text)] + commands
    // The lock keeps events that come at once until the client is in place.
    try state.withLock { state throws(SystemError) in
      state.client = try Client(settings, on: loop) { [self] in handle($0) }
    }
  }

  private var commands: [Subscription] {
    [.recheckDevice(kit.party.name), .recheckAll].map { (place: Topic.Place) in
      Subscription(Topic(kit.party.site, place).text, wantsRetained: false)
    }
  }

  /// Breaks the connection off.
  func drop() { state.withLock { $0.client = nil } }

  private var client: Client? { state.withLock { $0.client } }

  func publishState() { for publication in kit.state { client?.publish(publication) } }

  private func handle(_ event: ClientEvent) {
    switch event {
    case .prepare:
      client?.prepare(.init(will: kit.publication(Topic.Place.presence, .presence, kit.will)))
    case .online: tally.count { $0.online += 1 }
    case .offline: tally.count { $0.offline += 1 }
    case .completed(_, .taken): tally.count { $0.taken += 1 }
    case .completed, .dropped, .refused: tally.count { $0.failed += 1 }
    case .message(let message): receive(message)
    case .ended: break
    }
  }

  private func receive(_ message: Message) {
    guard let topic = Topic(message.topic), topic.kinds == [.command] else { return }
    do {
      let command = try verifier.command(message.payload, on: topic, at: Moment(Clock.wall))
      try answer(command.claims)
      tally.count { $0.obeyed += 1 }
    } catch { tally.count { $0.refused += 1 } }
  }

  private func answer(_ command: RecheckClaims) throws(KeyError) {
    let line = ProgressClaims(
      issuer: kit.party, issuedAt: Clock.wall, command: command.id, state: .accepted)
    publish(Topic.Place.reply, .progress, try TokenEncoder.encode(.progress, line.claims, with: kit.key))
    var claims = kit.claims
    claims.sequence = state.withLock { state in
      state.sequence += 1
      return state.sequence
    }
    claims.issuedAt = Clock.wall
    claims.cause = .recheck
    claims.nonces = [command.nonce]
    let token = try TokenEncoder.encode(.report, claims.claims, with: kit.key)
    publish(Topic.Place.report, .report, token)
    publish(Topic.Place.reply, .report, token)
  }

  private func publish(_ place: (Name) -> Topic.Place, _ kind: TokenKind, _ token: String) {
    client?.publish(kit.publication(place, kind, token))
  }
}
