public import Posture
public import PostureTokens

/// Every device of a site (or of a share of it), built from the broker's messages alone, in whatever order they come.
public struct Fleet: Sendable {
  /// Names that only messages which do not verify speak of: a lying broker can invent as many as it likes.
  public static let strangerCap = 1_000

  public private(set) var verifier: MonitorVerifier
  public private(set) var devices: [Name: DeviceState] = [:]
  /// The newest report of each device as it was signed.
  private var reports: [Name: [UInt8]] = [:]
  /// The key (kid) for whose credential the last message of a topic waits.
  private var waiting: [Name: [Topic: String]] = [:]
  public private(set) var strangers = 0
  public private(set) var counters = Counters()
  public var limits = Limits()
  /// Nonces of rechecks that were sent a moment ago: a report that echoes one is new.
  public var nonces: Set<String> = []
  /// What the history tells of devices before they are heard of.
  public var remembered: [Name: [OpenBreach]] = [:]

  public struct Counters: Hashable, Sendable {
    public var messages = 0
    public var verified = 0
    /// By ``TokenError/Code``.
    public var rejected: [String: Int] = [:]
    /// Messages about more unknown names than are kept.
    public var unkept = 0
    /// Messages that waited for a document until there was no room for them any more.
    public var dropped = 0
    /// The last reason why a trust document or a list of revoked keys was refused.
    public var trustRefused: String?
  }

  public init(trust: TrustStore) { self.init(knowing: MonitorVerifier(trust: trust, limits: .facts)) }

  public init(knowing verifier: MonitorVerifier) { self.verifier = verifier }

  // MARK: What comes in

  /// Takes one message of the broker; gives the verified ones, which are more than one where some waited for this one.
  public mutating func receive(
    _ bytes: [UInt8], on text: String, isRetained: Bool, at now: Int64
  ) -> [MonitorVerifier.Message] {
    if let topic = Topic(text) { return receive(bytes, on: topic, isRetained: isRetained, at: now) }
    counters.messages += 1
    reject(text, TokenError(.topic), at: now)
    return []
  }

  public mutating func receive(
    _ bytes: [UInt8], on topic: Topic, isRetained: Bool, at now: Int64
  ) -> [MonitorVerifier.Message] {
    outcomes(of: bytes, on: topic, isRetained: isRetained, at: now).compactMap {
      if case .message(let message) = $0 { message } else { nil }
    }
  }

  /// The same with all that became of it.
  mutating func outcomes(
    of bytes: [UInt8], on topic: Topic, isRetained: Bool, at now: Int64
  ) -> [MonitorVerifier.Outcome] {
    counters.messages += 1
    // An empty retained message is how a topic is cleared.
    if bytes.isEmpty { return [] }
    if isKnownReport(bytes, on: topic, isRetained: isRetained, at: now) { return [] }
    // What waited for a document came some time before it, live or not: no more is known of its age.
    let isKept = isRetained || topic.kinds == [.credential] || topic.kinds == [.trust]
    let outcomes = verifier.receive(bytes, on: topic, at: Moment(now))
    counters.dropped = verifier.waitingCount.dropped
    for outcome in outcomes { take(outcome, isRetained: isKept, at: now) }
    return outcomes
  }

  /// A recheck's report comes twice, on `report` and on `reply`: the same bytes are not verified again.
  private mutating func isKnownReport(_ bytes: [UInt8], on topic: Topic, isRetained: Bool, at now: Int64) -> Bool {
    guard topic.site == verifier.site, topic.kinds.contains(.report),
      let device = topic.device, reports[device] == bytes, let facts = devices[device]?.report
    else { return false }
    observe(.report(facts, isRetained: isRetained, isProven: false), of: device, at: now)
    endWaiting(of: device, at: now) { other, _ in other == topic }
    return true
  }

  private mutating func take(_ outcome: MonitorVerifier.Outcome, isRetained: Bool, at now: Int64) {
    switch outcome {
    case .message(let message):
      counters.verified += 1
      take(message, isRetained: isRetained, at: now)
      endWaiting(of: message.device, at: now) { topic, _ in topic == message.topic }
    case .awaitingKey(let topic, let kid):
      guard let device = topic.device else { return }
      observe(.waiting(true), of: device, at: now)
      if devices[device] != nil { waiting[device, default: [:]][topic] = kid }
    case .credential(let credential, _): take(credential, at: now)
    case .trust, .revoked: counters.trustRefused = nil
    case .awaitingRoot: break
    case .rejected(let topic, let error): reject(topic, error, at: now)
    }
  }

  private mutating func take(_ message: MonitorVerifier.Message, isRetained: Bool, at now: Int64) {
    switch message.content {
    case .report(let claims):
      let facts = ReportFacts(
        claims, kid: message.kid, keyIssued: verifier.credential(message.kid)?.claims.issuedAt ?? 0,
        digest: message.digest)
      let isProven = !nonces.isDisjoint(with: facts.nonces)
      observe(.report(facts, isRetained: isRetained, isProven: isProven), of: message.device, at: now)
      if devices[message.device]?.report == facts { reports[message.device] = message.token.bytes }
    case .event(let claims):
      observe(
        .event(EventFacts(claims, kid: message.kid, digest: message.digest)), of: message.device, at: now)
    case .presence(let claims):
      observe(.presence(PresenceFacts(claims, kid: message.kid)), of: message.device, at: now)
    case .progress, .refusal: break
    }
  }

  private mutating func take(_ credential: Credential, at now: Int64) {
    guard let name = credential.grant.subject?.name else { return }
    observe(
      .enrolled(
        kid: credential.kid, issued: credential.claims.issuedAt, expires: credential.grant.expires,
        groups: credential.grant.groups.map(\.description)), of: name, at: now)
    endWaiting(of: name, at: now) { _, kid in kid == credential.kid }
  }

  /// What waited has its credential, or something newer came in its place.
  private mutating func endWaiting(of name: Name, at now: Int64, _ isOver: (Topic, String) -> Bool) {
    guard let before = waiting[name] else { return }
    let left = before.filter { !isOver($0.key, $0.value) }
    waiting[name] = left.isEmpty ? nil : left
    if left.isEmpty { observe(.waiting(false), of: name, at: now) }
  }

  private mutating func reject(_ topic: String, _ error: TokenError, at now: Int64) {
    counters.rejected[error.code.rawValue, default: 0] += 1
    guard let place = Topic(topic), place.site == verifier.site else { return }
    guard let device = place.device else {
      counters.trustRefused = "\(topic): \(error)"
      return
    }
    let isReport = if case .report = place.place { true } else { false }
    observe(.rejected(code: error.code.rawValue, onReport: isReport), of: device, at: now)
  }

  mutating func observe(_ observation: Observation, of name: Name, at now: Int64) {
    if devices[name] == nil {
      if observation.isFromStranger {
        guard strangers < Self.strangerCap else {
          counters.unkept += 1
          return
        }
        strangers += 1
      }
      devices[name] = DeviceState(name, at: now)
      for breach in remembered[name] ?? [] { devices[name]?.observe(.breached(breach), at: now) }
    }
    devices[name]?.observe(observation, at: now)
  }

  /// The history knows the verdict from then on; `isSeen`: it holds the report before that, too.
  public mutating func remember(_ verdict: Verdict, of name: Name, since: Int64, isSeen: Bool, at now: Int64) {
    devices[name]?.observe(.verdict(verdict, since: since, isSeen: isSeen), at: now)
  }

  /// The history holds a report of this key with that number.
  public mutating func remember(report seq: Int64, by kid: String, of name: Name, at now: Int64) {
    devices[name]?.observe(.stored(kid: kid, seq: seq), at: now)
  }

  /// The history holds another message under a number of this key.
  public mutating func contradict(_ name: Name, kid: String, at now: Int64) {
    devices[name]?.observe(.contradicted(kid: kid), at: now)
  }

  /// An operator has looked into what contradicted itself.
  public mutating func acknowledge(_ name: Name, at now: Int64) {
    remembered[name] = nil
    devices[name]?.observe(.acknowledged, at: now)
  }

  /// What the history holds as open now. What it held before and does no longer, an operator has accepted, or it is over.
  public mutating func recall(_ open: [Name: [OpenBreach]], at now: Int64) {
    for (name, before) in remembered where !before.allSatisfy((open[name] ?? []).contains) {
      acknowledge(name, at: now)
    }
    for (name, breaches) in open {
      for breach in breaches where !(remembered[name] ?? []).contains(breach) {
        devices[name]?.observe(.breached(breach), at: now)
      }
    }
    remembered = open
  }

  // MARK: What is asked

  public func status(of name: Name, at now: Int64) -> DeviceStatus? {
    devices[name].map { status(of: $0, at: now) }
  }

  public func status(of device: DeviceState, at now: Int64) -> DeviceStatus {
    DeviceStatus(device, at: now, key: keyStanding(of: device, at: now), limits: limits)
  }

  private func keyStanding(of device: DeviceState, at now: Int64) -> MonitorVerifier.Standing {
    // A device that only messages without a credential speak of has no key to judge.
    device.kid.map { verifier.standing(of: $0, at: Moment(now)) } ?? (device.isWaiting ? .awaitingKey : .good)
  }

  public func row(of name: Name, at now: Int64) -> DeviceRow? {
    devices[name].map { DeviceRow($0, status(of: $0, at: now)) }
  }

  public func rows(at now: Int64) -> [DeviceRow] { devices.values.map { DeviceRow($0, status(of: $0, at: now)) } }

  /// The newest report as it was signed.
  public func report(of name: Name) -> [UInt8]? { reports[name] }

  /// What waits for an operator at one device in such a condition.
  func breaches(of name: Name, _ conditions: [Condition]) -> [OpenBreach] {
    devices[name]?.breaches(conditions) ?? []
  }

  /// How many devices stand where, at `now`; every standing is listed.
  public func counts(at now: Int64) -> [(standing: DeviceStatus.Standing, count: Int)] {
    var counts: [DeviceStatus.Standing: Int] = [:]
    for device in devices.values { counts[status(of: device, at: now).standing, default: 0] += 1 }
    return DeviceStatus.Standing.all.map { ($0, counts[$0] ?? 0) }
  }
}

extension Observation {
  /// Nobody vouches for the name.
  fileprivate var isFromStranger: Bool {
    switch self {
    case .waiting, .rejected: true
    default: false
    }
  }
}
