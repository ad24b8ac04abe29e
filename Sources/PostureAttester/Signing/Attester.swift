import Glibc
public import Posture
public import PosturePlatform
import PostureProbes
import PostureTokens

/// Judges, signs and remembers. It has no socket and no thread of its own: ``AttesterService`` calls it.
public final class Attester {
  public struct Options: Sendable {
    /// Seconds that a report is good for: twice the interval of the schedule, and some.
    public var reportLife: Int64 = 7_500
    /// The maker's Private Enterprise Number (RFC 9711 section 4.2.3).
    public var oemID: Int64?

    public init() {}
  }

  private(set) var identity: DeviceIdentity
  private let bundleFile: String
  let journal: Journal
  private let clock: DeviceClock
  private let options: Options
  private let machine: MachineFacts
  private var documents: Documents
  private let bounds: EventChain.Bounds
  /// Lines about commands are signed for whoever asks the courier, so there is a limit to them.
  private var lines: Bucket
  private(set) var last: LastReport?
  /// A change was reported whose event the journal did not take: it needs another look once there is room.
  private(set) var owesEvent = false

  /// What ``status`` says of the report before.
  struct LastReport: Sendable {
    var sequence: Int64
    var at: Int64
    var cause: ReportCause
    var verdict: Verdict
    var policy: Documents.InForce
    /// Milliseconds that the examination took.
    var took: Int64
    var failures: [String]
  }

  /// Opens the journal of `folder`.
  public convenience init(
    folder: DeviceFolder, identity: DeviceIdentity, clock: DeviceClock, options: Options = Options()
  ) throws(AttesterError) {
    try self.init(
      state: folder.attester, bundle: folder.attesterBundle, identity: identity, clock: clock, options: options)
  }

  init(
    state: String, bundle: String = "", identity: DeviceIdentity, clock: DeviceClock, options: Options = Options(),
    bounds: EventChain.Bounds = .standard
  ) throws(AttesterError) {
    self.identity = identity
    bundleFile = bundle
    self.clock = clock
    self.options = options
    self.bounds = bounds
    machine = MachineFacts.read()
    lines = Bucket(every: 500, burst: 64)
    do throws(JournalError) {
      journal = try Journal(folder: state, kid: identity.kid, now: clock.wall(), uptime: clock.uptime)
    } catch { throw AttesterError(error) }
    documents = Documents(identity: identity, kept: journal.ledger.documents)
  }

  var moment: Moment { clock.moment(atLeast: journal.ledger.clock, documents.provenTime) }
  var trust: TrustStore { documents.trust }
  private var clockState: ClockState { moment.isTrusted ? .synced : .unsynced }

  // MARK: Reports

  /// The policy that the next report is judged by.
  var policy: Documents.InForce { documents.policy(known: journal.ledger.documents, at: moment) }

  /// Judges what an examination saw, makes an event of what changed, and signs the report.
  func report(
    on examination: Examination, nonces: [String], cause: ReportCause, watch: WatchCoverage
  ) throws(AttesterError) -> String {
    try beginChain()
    let policy = self.policy
    var evidence = Judge.evidence(of: examination.facts(refused: journal.ledger.refused), under: policy.policy)
    let sequence = try store { () throws(JournalError) in try journal.nextSequence(now: moment.seconds) }
    let changes = Changes(evidence, since: journal.ledger, now: moment.seconds)
    remember(changes, policy: policy.policy.name, report: sequence)
    for index in evidence.findings.indices {
      evidence.findings[index].since = changes.findings[evidence.findings[index].identity]?.since
    }
    let token = try sign(.report, claims(evidence, policy, sequence, nonces, cause, watch).claims)
    last = LastReport(
      sequence: sequence, at: moment.seconds, cause: cause, verdict: evidence.verdict, policy: policy,
      took: examination.took, failures: examination.failures.map { "\($0.key): \($0.value)" }.sorted())
    return token
  }

  /// The same evidence signed, for whoever looks at it on the spot: no part of the series of reports, so that no event
  /// comes of it.
  public func token(of evidence: Evidence, under policy: Policy) throws(AttesterError) -> String {
    try beginChain()
    let sequence = try store { () throws(JournalError) in try journal.nextSequence(now: moment.seconds) }
    let inForce = Documents.InForce(policy: policy, version: nil)
    return try sign(.report, claims(evidence, inForce, sequence, [], .start, .none).claims)
  }

  private func claims(
    _ evidence: Evidence, _ policy: Documents.InForce, _ sequence: Int64, _ nonces: [String], _ cause: ReportCause,
    _ watch: WatchCoverage
  ) -> ReportClaims {
    let now = moment
    return ReportClaims(
      issuer: identity.party, ueid: identity.ueid, issuedAt: now.seconds,
      expires: now.isTrusted ? now.seconds + options.reportLife : nil, nonces: nonces, bootSeed: machine.bootSeed,
      uptime: clock.uptime() / 1000, sequence: sequence, clock: clockState, cause: cause, oemID: options.oemID,
      keyProtection: identity.key.protection, chain: journal.ledger.chain.claim, machine: machine.machine,
      watch: watch, policyDigest: policy.digest, evidence: evidence)
  }

  // MARK: Events

  /// Where the journal does not take it, the report goes out all the same, and the next one tries again.
  private func remember(_ changes: Changes, policy: String, report: Int64) {
    guard !changes.isNone else {
      owesEvent = false
      return journal.mend(now: moment.seconds)
    }
    owesEvent = (try? record(changes, policy: policy, report: report)) == nil
  }

  private func record(_ changes: Changes, policy: String, report: Int64) throws(AttesterError) {
    let event = try link(.change(changes.event(policy: policy, report: report)))
    var gap: (count: Int, token: String)?
    var after = journal.ledger.chain
    after.append(digest: event.digest, token: event.token, made: journal.ledger.hours)
    let surplus = after.surplus(bounds, hours: journal.ledger.hours)
    if surplus > 0 { gap = (surplus, try sign(gap: surplus, of: after)) }
    try change { ledger in
      ledger.chain.append(digest: event.digest, token: event.token, made: ledger.hours)
      if let gap { ledger.chain.fold(gap.count, token: gap.token) }
      ledger.verdict = changes.to
      ledger.findings = changes.findings
    }
  }

  /// A chain begins with its reason, which is on the disk before anything else is: a journal that holds something and no
  /// chain would not know it any more.
  private func beginChain() throws(AttesterError) {
    guard journal.ledger.chain.number == 0, case .anew(let reason) = journal.opening else { return }
    let event = try link(.start(reason))
    try write { $0.chain.append(digest: event.digest, token: event.token, made: $0.hours) }
  }

  /// The next event of the chain, signed.
  private func link(_ body: EventClaims.Body) throws(AttesterError) -> (token: String, digest: String) {
    let chain = journal.ledger.chain
    let claims = event(number: chain.number + 1, previous: chain.head, body).claims
    return (try sign(.event, claims), SHA256.text(of: claims.bytes))
  }

  private func sign(gap count: Int, of chain: EventChain) throws(AttesterError) -> String {
    guard let gap = chain.gap(count) else { throw AttesterError(.internal, "no such gap") }
    return try sign(
      .event, event(number: gap.number, previous: gap.previous, .gap(first: gap.first, head: gap.digest)).claims)
  }

  private func event(number: Int64, previous: String?, _ body: EventClaims.Body) -> EventClaims {
    EventClaims(
      issuer: identity.party, issuedAt: moment.seconds, clock: clockState, chain: journal.ledger.chain.id,
      number: number, previous: previous, body: body)
  }

  /// Bytes of events in one answer: what a frame holds, and room to spare.
  private static let batch = 600_000

  func events(after number: Int64, limit: Int) throws(AttesterError) -> AttesterAnswer {
    try beginChain()
    var bytes = 0
    let links = journal.ledger.chain.waiting.filter { $0.number > number }.prefix(limit).prefix { link in
      bytes += link.token.utf8.count
      return bytes <= Self.batch
    }
    return .events(
      chain: journal.ledger.chain.id,
      links.map { AttesterAnswer.NumberedToken(eseq: $0.number, token: $0.token) })
  }

  func acknowledge(chain: String, upTo number: Int64) throws(AttesterError) {
    let present = journal.ledger.chain
    guard chain == present.id, present.waiting.contains(where: { $0.number <= number }) else { return }
    try change { $0.chain.acknowledge(number) }
  }

  // MARK: Short lines

  func presence(_ connection: AttesterRequest.Connection) throws(AttesterError) -> AttesterAnswer {
    try beginChain()
    let number = try store { () throws(JournalError) in try journal.nextConnection(now: moment.seconds) }
    var claims = PresenceClaims(
      issuer: identity.party, issuedAt: moment.seconds, state: .offline, connection: connection.id, number: number,
      clock: clockState)
    let will = try sign(.presence, claims.claims)
    claims.state = .online
    claims.counters = connection.counters.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .integer($0.value)) }
    return .presence(birth: try sign(.presence, claims.claims), will: will, number: number)
  }

  func progress(command: String, state: ProgressState) throws(AttesterError) -> String {
    try takeLine()
    return try sign(
      .progress,
      ProgressClaims(issuer: identity.party, issuedAt: moment.seconds, command: command, state: state).claims)
  }

  func refusal(command: String, controller: String, code: RefusalCode) throws(AttesterError) -> String {
    try takeLine()
    return try sign(
      .refusal,
      RefusalClaims(
        issuer: identity.party, issuedAt: moment.seconds, command: command, controller: controller, code: code
      ).claims)
  }

  private func takeLine() throws(AttesterError) {
    guard lines.takeNow(clock.uptime()) else { throw AttesterError(.busy, "too many lines about commands") }
  }

  // MARK: Documents

  func accept(policy token: String) throws(AttesterError) {
    try remembering("policy") { () throws(AttesterError) in
      guard
        let (slot, document) = try documents.accepting(
          policy: token, known: journal.ledger.documents, at: moment)
      else { return try forgetRefusal("policy") }
      try change {
        $0.documents[slot] = document
        $0.refused["policy"] = nil
      }
    }
  }

  func accept(trust token: String) throws(AttesterError) {
    try remembering(Documents.trustSlot) { () throws(AttesterError) in
      guard let (next, document) = try documents.accepting(trust: token, at: moment) else {
        return try forgetRefusal(Documents.trustSlot)
      }
      try change {
        $0.documents[Documents.trustSlot] = document
        $0.refused[Documents.trustSlot] = nil
      }
      documents = next
    }
  }

  /// A refused document is told of in reports until one of its kind is taken.
  private func remembering(_ kind: String, _ body: () throws(AttesterError) -> Void) throws(AttesterError) {
    do throws(AttesterError) { try body() } catch {
      if error.code != .store, journal.ledger.refused[kind] != error.code.rawValue {
        try? change { $0.refused[kind] = error.code.rawValue }
      }
      throw error
    }
  }

  private func forgetRefusal(_ kind: String) throws(AttesterError) {
    guard journal.ledger.refused[kind] != nil else { return }
    try change { $0.refused[kind] = nil }
  }

  // MARK: Renewal

  /// A request for a new credential of the same key. The name is this device's; all else is the issuer's to decide.
  func request(tls: [UInt8]) throws(AttesterError) -> String {
    try takeLine()
    let claims = EnrolmentRequestClaims(
      name: identity.party.name, issuedAt: moment.seconds, key: identity.key.publicKey.jwk,
      keyProtection: identity.key.protection, tlsRequest: tls)
    return try sign(.request, claims.claims)
  }

  /// Puts the new credential in the place of the old one, on the disk first.
  func accept(renewal token: String) throws(AttesterError) {
    guard let bundle = identity.bundle, let current = identity.credential else {
      throw AttesterError(.notEnrolled, "no bundle to renew")
    }
    guard let answer = try documents.accepting(renewal: token, of: current, at: moment) else { return }
    let next = bundle.renewed(answer.claims, answer.credential, trust: documents.trust.token?.text)
    let identity = try DeviceIdentity(key: self.identity.key, ueid: self.identity.ueid, bundle: next)
    do throws(SystemError) { try AtomicFile.write(next.json.bytes, to: bundleFile) } catch {
      throw AttesterError(.store, error.description)
    }
    self.identity = identity
    documents = Documents(identity: identity, kept: journal.ledger.documents)
  }

  // MARK: Ground

  /// The one small write of an hour without change, and another try of what the disk did not take.
  func tick() {
    guard journal.retryAt == nil || journal.isRetryDue, (try? beginChain()) != nil else { return }
    try? journal.tick(now: moment.seconds)
  }

  /// When ``tick()`` is due again, by the device's uptime.
  var deadline: Int64? { journal.retryAt }

  /// True once for a change whose event there is room for again.
  func takeOwedLook() -> Bool {
    guard owesEvent, journal.failure == nil else { return false }
    owesEvent = false
    return true
  }

  private func change(_ body: (inout Ledger) -> Void) throws(AttesterError) {
    try beginChain()
    try write(body)
  }

  private func write(_ body: (inout Ledger) -> Void) throws(AttesterError) {
    let now = moment.seconds
    try store { () throws(JournalError) in try journal.change(now: now, body) }
  }

  private func store<Value>(_ body: () throws(JournalError) -> Value) throws(AttesterError) -> Value {
    do throws(JournalError) { return try body() } catch { throw AttesterError(error) }
  }

  private func sign(_ kind: TokenKind, _ claims: JSON) throws(AttesterError) -> String {
    let key = identity.key
    do throws(KeyError) { return try TokenEncoder.encode(kind, claims, with: key) } catch {
      throw AttesterError(.signing, error.description)
    }
  }
}
