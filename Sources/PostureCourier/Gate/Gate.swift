import Posture
import PosturePlatform
import PostureTokens

/// Whether a command whose signature and audience are good is obeyed: a pure machine. Times in milliseconds are those of
/// a clock that only grows.
struct Gate: Hashable, Sendable {
  enum Decision: Hashable, Sendable {
    case obey(Order)
    /// To be signed and published.
    case refuse(RefusalCode)
    /// Only counted.
    case ignore(Reason)
  }

  enum Reason: String, Sendable, CaseIterable {
    case replayed, refusalsExhausted
  }

  /// A report to be made.
  struct Order: Hashable, Sendable {
    var command: String
    /// The key of the controller that asks.
    var controller: String
    var nonce: String
    /// When it may start, at the earliest, and must have, at the latest.
    var start: Int64
    var latest: Int64
  }

  /// What the gate has to know of the runs under way.
  struct Load: Hashable, Sendable {
    /// Nonces of the run that has not started yet; nil where there is none.
    var waiting: Int?
    static let none = Load(waiting: nil)
  }

  /// One report carries this many nonces at most.
  static let nonceCap = AttesterRequest.nonceCap
  /// Askers that wait at once: those beyond one report's share are answered by the next ones, made one after the other.
  static let waitingCap = 4 * nonceCap
  /// Milliseconds between two runs on command in the long term, and runs at once.
  static let runInterval: Int64 = 30_000
  static let runBurst = 3
  static let refusalBurst = 5

  private(set) var memory: CommandMemory
  private var runs = Bucket(every: runInterval, burst: runBurst)
  private var refusals = Bucket(every: runInterval, burst: refusalBurst)
  /// Refused commands, so that each is refused once; lost on a restart, which costs a refusal out of the bucket.
  private var refused: [String] = []
  private let device: Party

  init(device: Party, memory: CommandMemory) {
    self.device = device
    self.memory = memory
  }

  /// Another time between two runs than the standard one.
  mutating func pace(every interval: Int64) {
    guard interval != runs.interval else { return }
    runs = Bucket(every: interval, burst: Self.runBurst)
  }

  /// `challenge`: the id of this connection. The caller writes ``memory`` down before anything that comes of `obey` leaves the device.
  mutating func judge(
    _ command: DeviceVerifier.Command, challenge: String?, at moment: Moment, _ now: Int64, load: Load = .none
  ) -> Decision {
    let key = CommandMemory.key(command.kid, command.claims.id)
    guard !memory.contains(key), !refused.contains(key) else { return .ignore(.replayed) }
    if let code = objection(to: command, challenge: challenge, at: moment) { return refuse(code, key, now) }
    let order = order(command, at: moment, now)
    if let waiting = load.waiting {
      // It rides along with a run that has been paid for.
      guard waiting < Self.waitingCap else { return refuse(.busy, key, now) }
    } else {
      let free = runs.next(now)
      guard free <= order.latest else { return refuse(.rateLimited, key, now) }
      runs.take(now)
    }
    guard memory.remember(key, until: command.claims.expires, life: command.claims.life, now) else {
      return refuse(.busy, key, now)
    }
    if let sequence = command.claims.sequence { memory.raise(command.kid, to: sequence) }
    return .obey(order)
  }

  /// Forgets commands that nobody can send again.
  mutating func forget(at moment: Moment, _ now: Int64) { memory.forget(at: moment, now) }

  // MARK: Rules

  private func objection(
    to command: DeviceVerifier.Command, challenge: String?, at moment: Moment
  ) -> RefusalCode? {
    let claims = command.claims
    if claims.life > RecheckClaims.longestLife { return .tooLong }
    if command.isTrustExpired { return .trustExpired }
    if moment.isPast(claims.expires) || moment.isBefore(claims.issuedAt) { return .expired }
    if claims.expires <= memory.forgottenUntil { return .expired }
    if !moment.isTrusted, !isFresh(claims, command.kid, challenge) { return .staleChallenge }
    return nil
  }

  /// Without a clock only what this connection gave out, or a number never seen, proves that a command is new.
  private func isFresh(_ claims: RecheckClaims, _ kid: String, _ challenge: String?) -> Bool {
    switch claims.audience {
    case .device: claims.challenge != nil && claims.challenge == challenge
    case .group, .site: claims.sequence.map { $0 > memory.sequence(of: kid) } ?? false
    }
  }

  private mutating func refuse(_ code: RefusalCode, _ key: String, _ now: Int64) -> Decision {
    guard refusals.takeNow(now) else { return .ignore(.refusalsExhausted) }
    if refused.count >= 64 { refused.removeFirst() }
    refused.append(key)
    return .refuse(code)
  }

  private func order(_ command: DeviceVerifier.Command, at moment: Moment, _ now: Int64) -> Order {
    let claims = command.claims
    // Nobody waits longer than the deadline, or without one than the command lives.
    let patience = claims.deadline ?? (moment.isTrusted ? max(1, claims.expires - moment.seconds) : claims.life)
    let delay = claims.spread.map { Self.delay(of: device, claims.id, spread: $0) } ?? 0
    let start = max(now + delay, runs.next(now))
    return Order(
      command: claims.id, controller: command.kid, nonce: claims.nonce, start: start,
      latest: max(now + patience * 1_000, now + delay))
  }

  /// Milliseconds: the same for a device and command each time, spread evenly over the devices.
  static func delay(of device: Party, _ command: String, spread: Int64) -> Int64 {
    guard spread > 0 else { return 0 }
    let digest = SHA256.digest(of: Array("\(device.urn)\n\(command)".utf8))
    let number = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Int64(number % UInt64(spread * 1_000))
  }
}
