public import Posture
import PostureTokens

/// All that is remembered of one device. Built from observations; what follows from it at a point of time is ``DeviceStatus``.
public struct DeviceState: Sendable {
  /// Keys and chains remembered of one device.
  private static let cap = 4

  public struct Key: Sendable {
    public var issued: Int64
    public var expires: Int64
    var reports = SequenceWindow()
    var presence = PresenceRecord()
    /// The machine that reported under this key.
    var machine: String?
    /// The starts of the machine, in the order in which they were heard of.
    var boots: [String] = []
    /// When the newest report was made, or received where its clock is ahead.
    var newestIssued: Int64 = 0
    /// The highest number of a report that the history holds.
    var storedNumber: Int64 = 0
    var isEquivocal = false
    var isCloned = false

    /// A machine that was started again does not come back as it was before: then it is another one. A report made
    /// before the newest one tells nothing: anybody can send it again.
    fileprivate mutating func see(boot: String?, made: Int64) {
      guard let boot, boot != boots.last, made >= newestIssued - Moment.leeway else { return }
      if boots.contains(boot) { isCloned = true }
      boots.removeAll { $0 == boot }
      boots.append(boot)
      if boots.count > DeviceState.cap { boots.removeFirst() }
    }
  }

  public struct Rejection: Hashable, Sendable {
    public var code: String
    public var at: Int64
  }

  public let name: Name
  public private(set) var keys: [String: Key] = [:]
  public private(set) var groups: [String] = []
  /// The newest one.
  public private(set) var report: ReportFacts?
  /// When the newest report was received.
  public private(set) var received: Int64 = 0
  /// When anything valid of the device was last received live.
  public private(set) var heard: Int64 = 0
  /// When it was first heard of.
  public let known: Int64
  /// The newest report came live or echoed a nonce, so that its age is known.
  public private(set) var isAged = false
  /// Of the newest report's verdict.
  public private(set) var verdictStart: VerdictStart?
  public private(set) var isWaiting = false
  /// What the report topic was last found to hold, where that does not verify.
  public private(set) var badReport: Rejection?
  public private(set) var rejections = 0
  public private(set) var replays = 0
  /// Events are missing since then.
  public private(set) var missingSince: Int64?
  /// Oldest first.
  private var chains: [(id: String, events: EventChain)] = []
  /// Its reports have spoken of more than one chain.
  private var hasChangedChain = false
  /// What the history tells of times before this start.
  private var remembered: [OpenBreach] = []

  public init(_ name: Name, at now: Int64) {
    self.name = name
    known = now
  }

  public mutating func observe(_ observation: Observation, at now: Int64) {
    switch observation {
    case .enrolled(let kid, let issued, let expires, let groups): enrol(kid, issued, expires, groups)
    case .report(let facts, let isRetained, let isProven):
      see(facts, isRetained: isRetained, isProven: isProven, at: now)
    case .presence(let facts): withKey(facts.kid) { $0.presence.see(facts, at: now) }
    case .event(let facts): see(facts, at: now)
    case .waiting(let isWaiting): self.isWaiting = isWaiting
    case .rejected(let code, let onReport):
      rejections += 1
      if onReport { badReport = Rejection(code: code, at: now) }
    case .verdict(let verdict, let since, let isSeen):
      if report?.verdict == verdict { verdictStart?.extend(to: since, isSeen: isSeen) }
    case .stored(let kid, let seq): withKey(kid) { $0.storedNumber = max($0.storedNumber, seq) }
    case .contradicted(let kid): withKey(kid) { $0.isEquivocal = true }
    case .breached(let breach): remembered.append(breach)
    case .acknowledged: acknowledge()
    }
  }

  private mutating func enrol(_ kid: String, _ issued: Int64, _ expires: Int64, _ groups: [String]) {
    let isNewest = keys.values.allSatisfy { $0.issued <= issued }
    withKey(kid) {
      // The broker may bring an older one again.
      if issued < $0.issued { return }
      $0.issued = issued
      $0.expires = expires
    }
    if isNewest { self.groups = groups }
  }

  private mutating func withKey(_ kid: String, _ change: (inout Key) -> Void) {
    if keys[kid] == nil, keys.count >= Self.cap, let oldest = keys.min(by: { $0.value.issued < $1.value.issued }) {
      keys[oldest.key] = nil
    }
    change(&keys[kid, default: Key(issued: 0, expires: .max)])
  }

  // MARK: Reports

  private mutating func see(_ facts: ReportFacts, isRetained: Bool, isProven: Bool, at now: Int64) {
    withKey(facts.kid) { key in
      let sight = key.reports.see(facts.seq, facts.digest)
      if sight == .conflict { key.isEquivocal = true }
      if sight != .duplicate, !isRetained { key.see(boot: facts.boot, made: facts.issued) }
      key.newestIssued = max(key.newestIssued, min(facts.issued, now))
      if let machine = facts.machine {
        if let known = key.machine, known != machine { key.isCloned = true }
        key.machine = key.machine ?? machine
      }
    }
    if !isRetained { heard = max(heard, now) }
    follow(facts)
    defer { noteMissing(at: now) }
    if let report, report.kid == facts.kid, report.seq == facts.seq {
      isAged = isAged || !isRetained || isProven
      badReport = nil
      return
    }
    guard report.map(facts.isNewer) ?? true else {
      replays += 1
      return
    }
    badReport = nil
    if report?.verdict != facts.verdict { verdictStart = VerdictStart(facts, after: report) }
    report = facts
    received = now
    isAged = !isRetained || isProven
  }

  /// The history holds a newer report than the one that the broker kept.
  var isOutdated: Bool { report.map { $0.seq < keys[$0.kid]?.storedNumber ?? 0 } ?? false }

  /// Whether what the newest report says of its time can be believed: its clock is trusted, and it did not come before
  /// it was made.
  var isDated: Bool { report.map { $0.expires != nil && $0.issued <= received + Moment.leeway } ?? false }

  // MARK: Chains

  private mutating func follow(_ facts: ReportFacts) {
    guard let head = facts.head else { return }
    if let known = headChain, known != head.chain { hasChangedChain = true }
    // What was broken stays so until the chain that follows is complete.
    if report.map(facts.isNewer) ?? true, headChain != head.chain, isForked || isRemembered(.chainBroken) {
      missingSince = missingSince ?? 0
    }
    withChain(head.chain) { $0.claim(head.eseq, head.digest) }
  }

  private mutating func see(_ facts: EventFacts, at now: Int64) {
    heard = max(heard, now)
    withChain(facts.chain) { $0.add(facts.link) }
    noteMissing(at: now)
    guard let report, facts.verdict == report.verdict, facts.issued <= report.issued else { return }
    verdictStart?.place(at: facts.issued)
  }

  private mutating func withChain(_ id: String, _ change: (inout EventChain) -> Void) {
    if let at = chains.firstIndex(where: { $0.id == id }) { return change(&chains[at].events) }
    if chains.count >= Self.cap { chains.remove(at: leastChain) }
    var events = EventChain()
    change(&events)
    chains.append((id, events))
  }

  /// The one that is forgotten first. Invented ones push out one another, and no broken one.
  private var leastChain: Int {
    let others = chains.indices.filter { chains[$0].id != headChain }
    return others.last { !chains[$0].events.isBroken } ?? others.last!
  }

  /// The chain that the newest report speaks of.
  private var headChain: String? { report?.head?.chain }

  /// What the device's chain is judged by: everything where no report tells which one it is.
  private var judged: [EventChain] {
    chains.filter { $0.id == headChain ?? $0.id }.map(\.events)
  }

  /// The present chain comes after another one, so that it has to begin at its beginning.
  private var isSuccessor: Bool {
    guard let headChain else { return false }
    return hasChangedChain || chains.contains { $0.id != headChain && $0.events.isBroken }
      || remembered.contains { $0.breach == .chainBroken && $0.chain != headChain }
  }

  public var missingEvents: [ClosedRange<Int64>] {
    let isSuccessor = isSuccessor
    return judged.flatMap { $0.missing(fromStart: isSuccessor) }
  }

  public var isForked: Bool { judged.contains(where: \.isForked) }
  public var declaredLost: Int64 { EventChain.sum(0, judged.map(\.declaredLost)) }
  public var chainStart: String? { judged.last?.startReason }

  private mutating func noteMissing(at now: Int64) {
    missingSince = missingEvents.isEmpty ? nil : missingSince ?? now
  }

  // MARK: Breaches

  /// A breach of a chain is over where the device has begun another one.
  private func known(_ breach: Breach) -> OpenBreach? {
    remembered.first { old in
      old.breach == breach && (old.chain.isEmpty || old.chain == headChain ?? old.chain)
    }
  }

  func isRemembered(_ breach: Breach) -> Bool { known(breach) != nil }

  /// Everything that waits for an operator, the worst first. `conditions`: those that hold now.
  func breaches(_ conditions: [Condition]) -> [OpenBreach] {
    Breach.allCases.compactMap { breach in
      guard let text = text(of: breach, conditions) else { return nil }
      let isOfChain = breach == .chainBroken || breach == .declaredLoss
      return known(breach)
        ?? OpenBreach(breach, chain: isOfChain ? headChain ?? "" : "", text: text)
    }
  }

  /// nil where it does not hold.
  private func text(of breach: Breach, _ conditions: [Condition]) -> String? {
    switch breach {
    case .chainBroken: conditions.contains(.chainBroken) ? chainTrouble : nil
    case .equivocation: conditions.contains(.equivocation) ? OpenBreach.equivocation.text : nil
    case .cloned: conditions.contains(.cloned) ? "two machines use one key" : nil
    case .declaredLoss: declared
    }
  }

  /// What is wrong with the chain, in words.
  var chainTrouble: String {
    if isForked { return "events contradict each other" }
    let missing = missingEvents.prefix(3).map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ", ")
    return missing.isEmpty
      ? known(.chainBroken)?.text ?? "events missing" : "events missing: \(missing)"
  }

  /// What the device itself says that it lost, in words.
  var declared: String? {
    switch chainStart {
    case "damagedStore": return "a new chain, for the store of events was damaged"
    case "lostStore": return "a new chain, for the store of events was lost"
    default: break
    }
    return declaredLost > 0 ? "\(declaredLost) events declared lost" : known(.declaredLoss)?.text
  }

  private mutating func acknowledge() {
    for at in chains.indices { chains[at].events.accept() }
    hasChangedChain = false
    remembered = []
    missingSince = nil
    for kid in keys.keys {
      keys[kid]?.isEquivocal = false
      keys[kid]?.isCloned = false
      keys[kid]?.boots = []
      keys[kid]?.reports = SequenceWindow()
      keys[kid]?.storedNumber = 0
      keys[kid]?.presence.forgive()
    }
  }

  // MARK: Keys

  /// The key of the newest report, else the newest one known.
  public var kid: String? { report?.kid ?? keys.max { ($0.value.issued, $0.key) < ($1.value.issued, $1.key) }?.key }

  /// When the credential of the newest key ends.
  public var expires: Int64? { kid.flatMap { keys[$0]?.expires } }

  /// Of the newest key that has one: a key that was given up says nothing any more.
  private var presence: PresenceRecord? {
    keys.filter { $0.value.presence.isKnown }.max { ($0.value.issued, $0.key) < ($1.value.issued, $1.key) }?
      .value.presence
  }

  /// nil: no presence is known.
  public var isOnline: Bool? { presence?.isOnline }

  /// The id of its connection; nil where it is not known to be connected.
  public var challenge: String? { presence.flatMap { $0.isOnline ? $0.connection : nil } }

  public var presenceSince: Int64? { presence?.since }
  public var isEquivocal: Bool { isRemembered(.equivocation) || keys.values.contains(where: \.isEquivocal) }
  public var isCloned: Bool {
    isRemembered(.cloned) || keys.values.contains { $0.isCloned || $0.presence.isDoubled }
  }
}
