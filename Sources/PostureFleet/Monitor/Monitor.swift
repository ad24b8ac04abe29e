public import Posture
import PosturePlatform
import PostureMQTT
import PostureTokens
import Synchronization

/// Takes in everything that a site says, verifies it, and keeps state and history.
///
/// Devices are shared out to as many shards as there are cores, by name; each has a thread, a queue and a ``Fleet`` of
/// its own, and all of them take the trust documents.
public final class Monitor: Sendable {
  public struct Settings: Sendable {
    /// Seconds that history is kept.
    public var retention: Int64 = 90 * 86_400
    public var limits = Limits()
    public var shards = 2
    /// Seconds between two samples of the trend.
    public var trendStep: Int64 = 300
    /// Takes a line when something begins to go wrong, and one when it ends.
    public var log: @Sendable (String) -> Void = { _ in }

    public init() {}
  }

  public let home: Home
  public let settings: Settings
  public let hub: EventHub
  private let shards: [MonitorShard]
  private let ledger: HistoryLedger
  private let board: Mutex<PolicyBoard>
  private let view = Mutex(FleetSnapshot())
  private let link = Mutex(LinkState())
  private let isStopped = Atomic<Bool>(false)
  /// Number of the last remark that was looked at.
  private let remarked: Mutex<Int64>

  /// What the connection to the broker is like.
  public struct LinkState: Sendable {
    public var isOnline = false
    public var trouble: String?
    public var reconnects = 0
    /// The retained messages have been taken in.
    public var isGathered = false
  }

  public init(_ home: Home, history: any HistoryStore & Sendable, _ settings: Settings = Settings()) throws {
    self.home = home
    self.settings = settings
    hub = EventHub()
    let trust = try TrustMemory.load(home)
    let ledger = try HistoryLedger(history)
    self.ledger = ledger
    board = Mutex(PolicyBoard(root: try home.root()))
    var fleet = Fleet(trust: trust)
    fleet.limits = settings.limits
    let known = try ledger.remarks(after: 0)
    let noted = HistoryRemark.open(known.remarks)
    fleet.remembered = HistoryRemark.open(known.remarks, contradicted: try ledger.contradicted())
    remarked = Mutex(known.last)
    let hub = hub
    let shards = try (0..<max(1, settings.shards)).map { _ in try MonitorShard(fleet, noted: noted, ledger, hub) }
    self.shards = shards
    ledger.onConflict = { record in shards.contradict(record) }
  }

  // MARK: Running

  /// Connects and works until ``stop()``; every thread that it starts ends with it.
  public func run() throws {
    let link = try OperatorLink(home, as: .monitor, subscribe: Self.filters(home.site), keepalive: 30)
    var threads: [MonitorThread] = []
    for shard in shards { threads.append(MonitorThread(try Thread.start("shard") { shard.run() })) }
    threads.append(MonitorThread(try Thread.start("history") { [ledger] in ledger.run() }))
    threads.append(MonitorThread(try Thread.start("view") { [self] in keepView() }))
    receive(from: link)
    link.close()
    shards.forEach { $0.stop() }
    ledger.stop()
    threads.forEach { $0.join() }
    hub.close()
    if ledger.lost > 0 { settings.log("history: \(ledger.lost) messages could not be stored and are lost") }
  }

  public func stop() { isStopped.store(true, ordering: .releasing) }

  private static func filters(_ site: Name) -> [String] {
    (["trust", "revoked", "revoked/+", "policy", "g/+/policy", "d/+/reply"] + Gathering.allDevices)
      .map { "\(Topic.prefix)/\(site)/\($0)" }
  }

  /// Milliseconds after which a site that is never silent counts as taken in.
  private static let longestGathering: Int64 = 10_000

  private func receive(from link: OperatorLink) {
    var quietSince = Clock.boottimeMilliseconds
    var gatheringSince = quietSince
    while !isStopped.load(ordering: .acquiring) {
      switch link.next(250) {
      case .message(let message):
        dispatch(message)
        quietSince = Clock.boottimeMilliseconds
        if quietSince - gatheringSince >= Self.longestGathering { noteGathered() }
      case .online:
        noteOnline()
        gatheringSince = Clock.boottimeMilliseconds
      case .offline(let why): self.link.withLock { ($0.isOnline, $0.trouble) = (false, why) }
      case .nothing:
        if Clock.boottimeMilliseconds - quietSince >= 500 { noteGathered() }
      }
    }
  }

  private func noteOnline() {
    link.withLock { state in
      if state.trouble != nil { state.reconnects += 1 }
      (state.isOnline, state.trouble) = (true, nil)
    }
  }

  private func noteGathered() {
    let isFirst = link.withLock { state in
      defer { if state.isOnline { state.isGathered = true } }
      return state.isOnline && !state.isGathered
    }
    guard isFirst else { return }
    // A whole fleet has just gone through the queues.
    Heap.trim()
  }

  private func dispatch(_ message: Message) {
    guard let topic = Topic(message.topic) else { return shards[0].refuse(message.topic) }
    let arrival = MonitorShard.Arrival(topic: topic, payload: message.payload, isRetained: message.retained)
    if topic.kinds == [.policy] {
      let trust = shards[0].read { $0.verifier.trust }
      _ = board.withLock { $0.receive(message.payload, on: topic, trust: trust, at: Clock.wall) }
    } else if let device = topic.device {
      shards[shards.index(of: device)].put(arrival)
    } else {
      shards.forEach { $0.put(arrival) }
    }
  }

  // MARK: The view

  /// Twice a second what has changed, more seldom while all that the broker keeps is coming in, which changes every
  /// device several times; every ten seconds everything, for time alone changes states.
  private func keepView() {
    var changes = RowChanges()
    var troubles = TroubleLog()
    var nextFull: Int64 = 0
    var pauses = 0
    var nextTrend = Clock.wall + 10
    var nextPrune = Clock.wall + 60
    var (trust, savedTrust): (TrustClaims?, TrustClaims?) = (nil, nil)
    while !isStopped.load(ordering: .acquiring) {
      Clock.sleep(milliseconds: 500)
      pauses += 1
      [troubles.line("broker", linkState.trouble), troubles.line("history", ledger.trouble)].forEach {
        $0.map(settings.log)
      }
      guard linkState.isGathered || pauses % 4 == 1 else { continue }
      let now = Clock.wall
      let isFull = Clock.boottimeMilliseconds >= nextFull
      if isFull { nextFull = Clock.boottimeMilliseconds + 10_000 }
      takeAcknowledgements(at: now)
      if isFull || self.trust != trust {
        trust = self.trust
        // Policies may have their signer now.
        board.withLock { $0.retry(trust: shards[0].read { $0.verifier.trust }, at: now) }
        // What it says is refused in an older one for good.
        if trust != savedTrust, shards[0].read({ TrustMemory.save($0.verifier, home) }) { savedTrust = trust }
      }
      if linkState.isGathered { shards.forEach { $0.remember(at: now) } }
      let rows = shards.flatMap { $0.takeRows(all: isFull, at: now) }.map(withPolicy)
      let changed = changes.take(rows)
      view.withLock { $0.merge(rows, isFull: isFull, at: now) }
      tell(changed)
      if now >= nextTrend {
        nextTrend = now + settings.trendStep
        ledger.put(TrendSample(at: now, counts: counts))
      }
      if now >= nextPrune {
        nextPrune = now + 3_600
        ledger.prune(before: now - settings.retention)
        Heap.trim()
      }
    }
  }

  private func withPolicy(_ row: DeviceRow) -> DeviceRow {
    var row = row
    row.duePolicy = board.withLock { $0.due(row) }
    return row
  }

  private func tell(_ changed: [DeviceRow]) {
    guard !changed.isEmpty, hub.count > 0 else { return }
    // Beyond some hundred a reader is quicker with a fresh page of the table.
    guard changed.count <= 200 else { return hub.send("reset", "{}") }
    hub.send("rows", JSON.array(changed.map(\.json)).text)
  }

  // MARK: What is asked

  public var snapshot: FleetSnapshot { view.withLock { $0 } }
  public var linkState: LinkState { link.withLock { $0 } }
  public var counts: [String: Int] { snapshot.counts }

  public func detail(_ name: Name, at now: Int64) -> DeviceDetail? {
    guard var detail = shards[shards.index(of: name)].read({ DeviceDetail(name, in: $0, at: now) }) else { return nil }
    detail.row = withPolicy(detail.row)
    return detail
  }

  public func report(_ name: Name) -> [UInt8]? { shards[shards.index(of: name)].read { $0.report(of: name) } }

  public func history(_ name: Name, limit: Int) throws(HistoryError) -> [HistoryRecord] {
    try ledger.records(of: name, limit: limit)
  }

  public func trend(since: Int64) throws(HistoryError) -> [TrendSample] { try ledger.trend(since: since) }

  public func remarks(_ name: Name, limit: Int) throws(HistoryError) -> [HistoryRemark] {
    try ledger.remarks(of: name, limit: limit)
  }

  /// An operator has looked, and says why all is well.
  public func acknowledge(_ name: Name, by: String, why: String, at now: Int64) throws(HistoryError) {
    try ledger.add(HistoryRemark(device: name, at: now, by: by, kind: .acknowledged(why: why)))
    takeAcknowledgements(at: now)
  }

  /// The history is the one place where operators leave them, whether here or by the command line.
  private func takeAcknowledgements(at now: Int64) {
    remarked.withLock { last in
      guard let new = try? ledger.remarks(after: last) else { return }
      last = new.last
      for remark in new.remarks {
        if case .acknowledged = remark.kind {
          shards[shards.index(of: remark.device)].acknowledge(remark.device, at: now)
        }
      }
    }
  }

  /// A report that echoes this nonce is new.
  public func expect(_ nonce: String) { shards.forEach { $0.expect(nonce) } }

  public var counters: Fleet.Counters {
    shards.reduce(into: Fleet.Counters()) { $0.add($1.read { $0.counters }) }
  }

  /// What the history refused, if anything.
  public var historyTrouble: String? { ledger.trouble }
  public var stored: Int { ledger.stored }
  /// Messages that the history could not take, and that are lost.
  public var dropped: Int { ledger.dropped }
  public var lacksRevokedList: Bool { shards[0].read { $0.verifier.lacksRevokedList } }
  public var trust: TrustClaims? { shards[0].read { $0.verifier.trust.current } }
}

/// A thread in an array: joined once.
final class MonitorThread {
  private var thread: Thread?

  init(_ thread: consuming Thread) { self.thread = consume thread }

  func join() {
    if let thread = thread.take() { thread.join() }
  }
}

extension [MonitorShard] {
  /// FNV-1a of the name: the same device is always in the same hands.
  func index(of device: Name) -> Int {
    let hash = device.description.utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    return Int(hash % UInt64(count))
  }

  func contradict(_ record: HistoryRecord) { self[index(of: record.device)].contradict(record) }
}

extension Fleet.Counters {
  mutating func add(_ other: Self) {
    messages += other.messages
    verified += other.verified
    unkept += other.unkept
    dropped += other.dropped
    rejected.merge(other.rejected) { $0 + $1 }
    trustRefused = trustRefused ?? other.trustRefused
  }
}
