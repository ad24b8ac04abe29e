import Posture
import PosturePlatform

/// When the attester is asked for a report: a pure machine. Askers that come before a run starts share it.
struct Planner: Hashable, Sendable {
  struct Settings: Hashable, Sendable {
    /// Milliseconds between two scheduled reports, and where in each such stretch of time this device reports.
    var period: Int64
    var phase: Int64
    /// Milliseconds of quiet after a change, and the longest such wait.
    var settle: Int64 = 200
    var settleCap: Int64 = 1_000
    /// Milliseconds before a failed run is tried again; doubles.
    var retry: Int64 = 1_000
    var retryCap: Int64 = 300_000
  }

  enum Event: Hashable, Sendable {
    /// Something other than a command: it starts at once, or when things have settled.
    case want(ReportCause)
    case order(Gate.Order)
    /// The attester has answered; false: it has not made a report.
    case finished(Bool)
    case time
  }

  enum Action: Hashable, Sendable {
    case ask(nonces: [String], ReportCause)
    /// The run that answers this command has begun.
    case began(Gate.Order)
    /// Nobody waits for the answer to this command any more.
    case abandoned(Gate.Order)
  }

  struct Run: Hashable, Sendable {
    var causes: Set<ReportCause> = []
    var orders: [Gate.Order] = []
    var start: Int64
    /// The run is put off no further.
    var latestStart: Int64
  }

  var settings: Settings
  private(set) var waiting: Run?
  private(set) var running: Run?
  private(set) var scheduledAt: Int64?
  private var failures = 0
  /// Changes that come faster than this are looked at together.
  private var changes = Bucket(every: 30_000, burst: 5)

  init(_ settings: Settings) { self.settings = settings }

  var load: Gate.Load { Gate.Load(waiting: waiting.flatMap { $0.orders.isEmpty ? nil : $0.orders.count }) }

  /// When ``Event/time`` is due.
  var deadline: Int64? {
    // A run that goes on wakes us when it ends.
    let start = running == nil ? waiting?.start : nil
    return [start, scheduledAt].compactMap(\.self).min()
  }

  /// Seconds since the epoch are needed only to find this device's place in the period.
  mutating func handle(_ event: Event, at now: Int64, wall: Int64) -> [Action] {
    switch event {
    case .want(let cause): want(cause, now)
    case .order(let order): add(order, now)
    case .finished(let isGood): finish(isGood, now)
    case .time: break
    }
    keepSchedule(now, wall)
    return begin(now)
  }

  /// The date was set: the place in the period is another.
  mutating func dateWasSet() { scheduledAt = nil }

  // MARK: Asking

  private mutating func want(_ cause: ReportCause, _ now: Int64) {
    var start = now
    if cause == .change { start = max(now + settings.settle, changes.next(now)) }
    if waiting?.causes.contains(.change) == true, cause == .change, let run = waiting {
      // Quiet has not come yet.
      waiting?.start = max(run.start, min(start, run.latestStart))
      return
    }
    join(start, latestStart: max(start, now + settings.settleCap))
    waiting?.causes.insert(cause)
  }

  private mutating func add(_ order: Gate.Order, _ now: Int64) {
    join(order.start, latestStart: max(order.start, order.latest))
    waiting?.causes.insert(.recheck)
    waiting?.orders.append(order)
  }

  /// The run that waits, which starts at `start` at the latest.
  private mutating func join(_ start: Int64, latestStart: Int64) {
    guard let run = waiting else {
      waiting = Run(start: start, latestStart: latestStart)
      return
    }
    waiting?.start = min(run.start, start)
    waiting?.latestStart = min(run.latestStart, latestStart)
  }

  // MARK: Running

  private mutating func begin(_ now: Int64) -> [Action] {
    guard running == nil, var run = waiting, now >= run.start else { return [] }
    let late = run.orders.filter { now > $0.latest }
    run.orders.removeAll { now > $0.latest }
    if run.orders.isEmpty { run.causes.remove(.recheck) }
    waiting = Self.surplus(of: &run, now)
    let abandoned = late.map(Action.abandoned)
    guard let cause = Self.order.first(where: run.causes.contains) else { return abandoned }
    // Not more than there is: a change that rode along with other runs must not make the next one wait for all of them.
    if run.causes.contains(.change) { _ = changes.takeNow(now) }
    running = run
    return abandoned + run.orders.map(Action.began)
      + [.ask(nonces: run.orders.map(\.nonce), cause)]
  }

  /// What two runs that became one ask beyond what a report can answer: the next run's.
  private static func surplus(of run: inout Run, _ now: Int64) -> Run? {
    let rest = Array(run.orders.dropFirst(Gate.nonceCap))
    guard !rest.isEmpty else { return nil }
    run.orders.removeLast(rest.count)
    return Run(causes: [.recheck], orders: rest, start: now, latestStart: now)
  }

  /// The cause that is named where there are several: what somebody or something asked for, before the clock's turn.
  private static let order: [ReportCause] = [
    .recheck, .change, .policy, .clock, .resume, .start, .reconnect, .schedule,
  ]

  private mutating func finish(_ isGood: Bool, _ now: Int64) {
    guard let run = running else { return }
    running = nil
    guard !isGood else {
      failures = 0
      return
    }
    // What was asked for is asked again, together with what has come meanwhile.
    let delay = min(settings.retryCap, settings.retry << min(failures, 10))
    failures += 1
    let rest = waiting
    waiting = Run(
      causes: run.causes.union(rest?.causes ?? []), orders: run.orders + (rest?.orders ?? []), start: now + delay,
      latestStart: now + delay)
  }

  private mutating func keepSchedule(_ now: Int64, _ wall: Int64) {
    if let due = scheduledAt, now >= due {
      join(now, latestStart: now)
      waiting?.causes.insert(.schedule)
      scheduledAt = nil
    }
    guard scheduledAt == nil else { return }
    let place = (settings.phase - wall * 1_000) % settings.period
    scheduledAt = now + (place <= 0 ? place + settings.period : place)
  }
}
