import Posture
import PosturePlatform
import PostureMQTT
import PostureTokens

/// Birth and will of one connection.
struct SignedPresence {
  var connection: String
  var birth: String
  var will: String
  let topic: Topic
  /// The broker has taken the birth.
  var isBorn = false
  /// A CONNECT with this will may have reached the broker: it is not used for another.
  var isUsed = false

  func publication(_ token: String) -> Publication {
    Letter(topic: topic, kind: .presence, token: token).publication()
  }

  /// What takes the place of the birth at a clean end.
  func offline(_ isOnline: Bool) -> Publication? { isOnline ? publication(will) : nil }
}

extension Courier {
  /// Reconnecting devices come back to life over this many milliseconds.
  private static let republishJitter: Int64 = 2_000

  func topic(_ place: Topic.Place) -> Topic { Topic(enrolment.device.site, place) }
  private var name: Name { enrolment.device.name }

  func handle(_ event: ClientEvent) {
    switch event {
    case .prepare: prepare()
    case .online(let connack): online(connack)
    case .offline(let loss, _): offline(loss)
    case .refused(let subscription, let reason):
      lastError = "subscription to \(subscription.filter) refused"
      log.say(
        .warning, "subscription",
        "subscription to \(subscription.filter) refused: \(reason.map(\.description) ?? "no answer of the kind")")
    case .message(let message): receive(message)
    case .dropped: counters.count(.strayMessages)
    case .completed(let ticket, let outcome): completed(ticket, outcome)
    case .ended: clientEnded()
    }
  }

  // MARK: Before CONNECT

  /// A will that no broker has seen may be used again; otherwise the attester signs another.
  private func prepare() {
    if let presence, !presence.isUsed { sendWill(presence) } else { askForPresence() }
  }

  func askForPresence() {
    let connection = Base64URL.encode(Random.bytes(16))
    quick.ask(.presence(.init(id: connection, counters: counters.named))) { [unowned self] answer in
      switch answer {
      case .success(.presence(let birth, let will, _)):
        presenceFailures = 0
        let presence = SignedPresence(
          connection: connection, birth: birth, will: will, topic: topic(.presence(name)))
        self.presence = presence
        sendWill(presence)
      default:
        attesterFailed("presence", answer)
        set(.presence, min(30_000, 1_000 << min(presenceFailures, 5)))
        presenceFailures += 1
      }
    }
  }

  private func sendWill(_ presence: SignedPresence) {
    client?.prepare(Client.Preparation(will: presence.publication(presence.will), checksDates: moment.isTrusted))
  }

  // MARK: Online

  private func online(_ connack: Session.Connack) {
    isOnline = true
    onlineSince = Clock.wall
    presence?.isUsed = true
    let isFirst = counters[.connects] == 0
    counters.count(.connects)
    let version = connack.version == .v5 ? "MQTT 5" : "MQTT 3.1.1"
    log.say(.notice, "online", "connected, \(version)")
    lastLoss = nil
    show("connected, \(version)")
    set(.republish, isFirst ? 0 : Int64.random(in: 0...Self.republishJitter))
    set(.tell, 0)
  }

  private func offline(_ loss: Loss) {
    let wasOnline = isOnline
    isOnline = false
    onlineSince = nil
    if loss.mayHaveReached { presence?.isUsed = true }
    presence?.isBorn = false
    perform(pump.handle(.offline, at: now))
    // A broker that stays away is said once.
    if wasOnline || lastLoss != loss { log.say(.warning, "offline", "broker: \(loss)") }
    lastLoss = loss
    lastError = "broker: \(loss)"
    show("broker: \(loss)")
    set(.tell, 0)
  }

  /// On every CONNACK: a broker that lost what it had kept has it again.
  func republish() {
    guard isOnline else { return }
    publishState()
    perform(pump.handle(.online, at: now))
  }

  /// All that a broker keeps of a device.
  private func publishState() {
    publish(Letter(topic: topic(.keys(name)), kind: .credential, token: enrolment.bundle.credential))
    publishBirth()
    if let lastReport { publishReport(lastReport) }
    considerRenewal()
  }

  private func publishBirth() {
    guard let presence else { return }
    client?.publish(presence.publication(presence.birth))
    // From here on whatever else stands there is not ours.
    self.presence?.isBorn = true
  }

  /// Publishes while there is a connection; otherwise the token is made anew, or comes again with the next CONNACK.
  func publish(_ letter: Letter) {
    guard isOnline else { return }
    client?.publish(letter.publication())
  }

  // MARK: Our own presence

  /// An old will that comes late, another client of our name, or a broker that deleted it: ours is put back, and with it
  /// what else may be gone.
  func receivePresence(_ message: Message) {
    guard isOnline, let presence, presence.isBorn, message.payload != Array(presence.birth.utf8) else { return }
    set(.correct, max(Int64.random(in: 200...1_000), correctedAt + 10_000 - now))
  }

  func correctPresence() {
    guard isOnline else { return }
    correctedAt = now
    counters.count(.presenceCorrections)
    log.say(.notice, "presence", "the broker showed another presence than ours: put right")
    publishState()
  }
}
