import Posture
import PostureFleet
import PostureMQTT
import PosturePlatform
import PostureTerminal

/// `posturectl issuer`: renews what would end, with no hands.
struct IssuerVerb: Verb {
  static let name = "issuer"
  static let summary = "stay online and renew credentials, certificates and the trust document before they end"
  static let help = """
    usage: posturectl issuer [--once] [--home DIR]

    Devices ask for a new credential and TLS certificate when less than a third of their life is left. Each request is
    signed by the device's own key; it is answered if that is the key it was enrolled with and was not revoked, with the
    groups and the length of life of its enrolment. The trust document is renewed and published in its last third too.
    Needs the folder's issuer and tls/ca.key; the root's key stays offline.

      --once    answer what waits, and end
    """

  private let home: HomeOption
  private let isOnce: Bool

  init(_ arguments: inout Arguments) throws(UsageError) {
    home = try HomeOption(&arguments)
    isOnce = arguments.flag("--once")
    try arguments.end()
  }

  func run() throws -> Int32 {
    let home = try home.open()
    let issuer = try OnlineIssuer(home)
    if isOnce {
      try issuer.answerWhatWaits()
      return 0
    }
    Stop.onSignals()
    Terminal.out("issuer of \(home.site): waiting for requests")
    while !Stop.isAsked { issuer.turn(500) }
    issuer.close()
    return 0
  }
}

/// The link, and what comes over it.
private final class OnlineIssuer {
  /// Seconds in which a device is answered once, and between two looks at the trust document.
  private static let pause: Int64 = 10
  private static let look: Int64 = 60

  private let home: Home
  private let desk: RenewalDesk
  private let link: OperatorLink
  private var answered: [String: Int64] = [:]
  private var lookedAt: Int64 = 0
  private var isTrustUnpublished = false

  init(_ home: Home) throws {
    self.home = home
    desk = RenewalDesk(home)
    link = try OperatorLink(home, as: .issuer, subscribe: [desk.filter])
    try link.waitOnline()
  }

  func answerWhatWaits() throws(LinkError) {
    var waiting: [Message] = []
    let isAll = try link.gather { waiting.append($0) }
    waiting.forEach(answer)
    if !isAll { Terminal.error("posturectl issuer: more requests wait: run it again") }
    keepTrust()
    close()
  }

  func close() { link.close() }

  func turn(_ milliseconds: Int64) {
    keepTrust()
    switch link.next(milliseconds) {
    case .message(let message): answer(message)
    case .offline(let why): Terminal.error("posturectl issuer: \(why)")
    case .online, .nothing: break
    }
  }

  private func answer(_ message: Message) {
    let now = Clock.wall
    // A device clears its topic when it has its answer.
    guard !message.payload.isEmpty, now >= answered[message.topic] ?? 0 else { return }
    attempt(message.topic) {
      let answer = try desk.answer(message.payload, on: message.topic, at: now)
      answered[message.topic] = now + Self.pause
      try link.publish(answer.publication)
      Terminal.out("renewed \(answer.device) until \(Timestamp.text(answer.until))")
    }
  }

  private func keepTrust() {
    let now = Clock.wall
    guard now >= lookedAt + Self.look else { return }
    lookedAt = now
    attempt("trust") {
      let version = try desk.keepTrust(at: now)
      isTrustUnpublished = isTrustUnpublished || version != nil
      guard isTrustUnpublished else { return }
      var issuer = try IssuerDesk(home)
      try issuer.publish(over: link)
      isTrustUnpublished = false
      Terminal.out("published: trust document \(issuer.state.version)")
    }
  }

  private func attempt(_ what: String, _ body: () throws -> Void) {
    do { try body() } catch { Terminal.error("posturectl issuer: \(what): \(error)") }
  }
}
