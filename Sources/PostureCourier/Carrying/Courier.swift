import CLinux
import Glibc
public import Posture
import PosturePlatform
import PostureMQTT
import PostureTokens

/// Carries what the attester signs to the broker, and commands to the attester that pass the gate. It has no key for
/// signing and no privilege. One thread, which waits in one poll(2).
public final class Courier {
  /// Where the configuration comes from, at the start and on SIGHUP.
  public typealias Source = () throws(ConfigurationError) -> (AgentConfiguration, Enrolment)

  /// Bytes: a device is asked little, and what floods it can wait at the broker.
  private static let inboxCap = 512 << 10
  /// Milliseconds for an answer that needs no examination.
  private static let quickPatience: Int64 = 15_000

  enum Timer: Hashable, CaseIterable {
    case presence, republish, correct, tell, listen, watch, watchdog, forget, documents, renew, restart, rest, stop
  }

  private let source: Source
  private(set) var configuration: AgentConfiguration
  private(set) var enrolment: Enrolment
  let log: Log
  private let service = ServiceManager()
  private let signals: Descriptor
  private let dates: Descriptor
  private let inbox: Inbox
  let quick: AttesterChannel
  let reports: AttesterChannel
  let watch: AttesterChannel
  private(set) var client: Client?
  private var timers: [Timer: Int64] = [:]
  private var isStopping = false
  private var isRestarting = false
  private var hasEnded = false
  private var asleep: Int64 = 0
  private var dateOffset: Int64 = 0

  var verifier: DeviceVerifier
  var gate: Gate
  var planner: Planner
  var pump = EventPump()
  var counters = Counters()

  // The session.
  var isOnline = false
  var onlineSince: Int64?
  var lastLoss: Loss?
  var presence: SignedPresence?
  var presenceFailures = 0
  var correctedAt: Int64 = .min / 2
  // What was carried.
  var lastReport: String?
  var seenChanges: Int64 = 0
  var eventTickets: [Session.Ticket: Int64] = [:]
  /// Counts what was pulled: the events of one pull are one row.
  var eventRow = 0
  var lastError: String?
  // Documents of the broker by topic, and those the attester has been handed.
  var documents: [String: [UInt8]] = [:]
  var handed: [String: [UInt8]] = [:]
  var documentRate = Bucket(every: 1_000, burst: 20)
  /// The issuer's answer that was installed last.
  var renewal: [UInt8]?
  /// The version of the trust document that made us ask for another issuer's credential.
  var askedUnder: Int64?

  public convenience init(_ source: @escaping Source) throws(ConfigurationError) {
    try self.init(source, log: Log())
  }

  init(_ source: @escaping Source, log: Log) throws(ConfigurationError) {
    self.source = source
    self.log = log
    (configuration, enrolment) = try source()
    do throws(SystemError) {
      // Before any other thread is started, so that none of them takes the signals.
      signals = Descriptor(owning: try retrying("signalfd") { clinux_signals() })
      dates = Descriptor(owning: try retrying("timerfd") { clinux_date_watch() })
      inbox = try Inbox(cap: Self.inboxCap)
    } catch { throw ConfigurationError("\(error)") }
    quick = AttesterChannel(configuration.socket, patience: Self.quickPatience)
    reports = AttesterChannel(configuration.socket, patience: AttesterRequest.longestReport)
    watch = AttesterChannel(configuration.socket, patience: nil)
    verifier = try enrolment.verifier()
    gate = Gate(device: enrolment.device, memory: Self.memory(enrolment, log))
    planner = Planner(Self.plan(configuration, enrolment.device))
    gate.pace(every: Int64(configuration.recheckInterval) * 1_000)
    asleep = Self.asleepNow
    dateOffset = Self.dateOffsetNow
  }

  private static func plan(_ configuration: AgentConfiguration, _ device: Party) -> Planner.Settings {
    let period = Int64(configuration.period) * 1_000
    // The same device always reports at the same place of the period, and the fleet all over it.
    return Planner.Settings(
      period: period, phase: Gate.delay(of: device, "schedule", spread: Int64(configuration.period)))
  }

  // MARK: Running

  /// Returns the exit status after SIGTERM or SIGINT.
  public func run() -> Int32 {
    connect()
    perform(planner.handle(.want(.start), at: now, wall: Clock.wall))
    watchForChanges()
    if gate.memory.count > 0 { set(.forget, 60_000) }
    if let watchdog = service.watchdog { set(.watchdog, watchdog) }
    service.isReady("connecting")
    while !hasEnded { turn() }
    return 0
  }

  var now: Int64 { Clock.monotonicMilliseconds }

  private func turn() {
    var polled = [
      pollfd(fd: signals.number, events: Int16(POLLIN), revents: 0),
      pollfd(fd: dates.number, events: Int16(POLLIN), revents: 0),
      pollfd(fd: inbox.descriptor, events: Int16(POLLIN), revents: 0),
      quick.polled, reports.polled, watch.polled,
    ]
    guard poll(&polled, nfds_t(polled.count), timeout) >= 0 else { return }
    if polled[0].revents != 0 { obeySignal() }
    if polled[1].revents != 0 { noticeDate() }
    if polled[2].revents != 0 { while let event = inbox.next() { handle(event) } }
    for (channel, events) in zip([quick, reports, watch], polled[3...]) where events.revents != 0 {
      channel.proceed(events.revents)
    }
    meetDeadlines()
  }

  private var deadline: Int64? {
    let own = timers.values.min()
    return [own, planner.deadline, pump.deadline, quick.deadline, reports.deadline, watch.deadline]
      .compactMap(\.self).min()
  }

  private var timeout: Int32 { deadline.map { Int32(clamping: max(0, $0 - now)) } ?? -1 }

  private func meetDeadlines() {
    let now = now
    for channel in [quick, reports, watch] { if let due = channel.deadline, now >= due { channel.meet(now) } }
    if let due = planner.deadline, now >= due { perform(planner.handle(.time, at: now, wall: Clock.wall)) }
    if let due = pump.deadline, now >= due { perform(pump.handle(.time, at: now)) }
    for (timer, due) in timers where now >= due {
      timers[timer] = nil
      fire(timer)
    }
  }

  /// Milliseconds from now; an earlier time that is set already stays.
  func set(_ timer: Timer, _ delay: Int64) { timers[timer] = min(timers[timer] ?? .max, now + delay) }

  func cancel(_ timer: Timer) { timers[timer] = nil }

  private func fire(_ timer: Timer) {
    switch timer {
    case .presence: askForPresence()
    case .republish: republish()
    case .correct: correctPresence()
    case .tell: tellAttester()
    case .listen: listenToAttester()
    case .watch: watchForChanges()
    case .watchdog:
      service.isAlive()
      if let watchdog = service.watchdog { set(.watchdog, watchdog) }
    case .forget:
      gate.forget(at: moment, now)
      if gate.memory.count > 0 { set(.forget, 60_000) }
    case .documents: handDocuments()
    case .renew: considerRenewal()
    case .restart: connect()
    case .rest: Heap.rest()
    case .stop: hasEnded = true
    }
  }

  // MARK: Time

  /// What is known of the time.
  var moment: Moment {
    let isTrusted = configuration.clock == .trusted || Clock.isSynchronized
    if isTrusted, Clock.wall >= Release.date { return Moment(Clock.wall) }
    return Moment(max(Release.date, verifier.trust.provenTime), isTrusted: false)
  }

  private static var asleepNow: Int64 { Clock.boottimeMilliseconds - Clock.monotonicMilliseconds }
  private static var dateOffsetNow: Int64 { Clock.wall * 1_000 - Clock.boottimeMilliseconds }

  /// The date was set, or the machine woke up.
  private func noticeDate() {
    clinux_date_watch_again(dates.number)
    let (asleep, offset) = (Self.asleepNow, Self.dateOffsetNow)
    if asleep - self.asleep > 10_000 {
      log.say(.info, "resume", "woken after \((asleep - self.asleep) / 1_000) s")
      client?.noticeSleep()
      want(.resume)
    }
    if abs(offset - dateOffset) > 2_000 {
      log.say(.notice, "clock", "the clock was set by \((offset - dateOffset) / 1_000) s")
      planner.dateWasSet()
      want(.clock)
    }
    (self.asleep, dateOffset) = (asleep, offset)
  }

  func want(_ cause: ReportCause) { perform(planner.handle(.want(cause), at: now, wall: Clock.wall)) }

  // MARK: Signals

  private func obeySignal() {
    while case let signal = clinux_next_signal(signals.number), signal > 0 {
      if signal == SIGHUP { reload() } else { stop() }
    }
  }

  private func stop() {
    guard !isStopping else { return }
    isStopping = true
    service.isStopping()
    log.say(.info, "stop", "stopping")
    leave()
    // The broker has half a second; nobody waits for it longer.
    set(.stop, client == nil ? 0 : 700)
  }

  private func reload() {
    service.isReloading()
    defer { service.isReady(isOnline ? "connected" : "connecting") }
    do throws(ConfigurationError) {
      let (configuration, enrolment) = try source()
      let verifier = try enrolment.verifier()
      guard configuration.socket == self.configuration.socket else {
        throw ConfigurationError("another socket needs a restart")
      }
      guard enrolment.device == self.enrolment.device else {
        throw ConfigurationError("another device needs a restart")
      }
      (self.configuration, self.enrolment, self.verifier) = (configuration, enrolment, verifier)
    } catch {
      lastError = "configuration refused: \(error)"
      return log.say(.error, "reload", "configuration refused, the old one stays: \(error)")
    }
    planner.settings = Self.plan(configuration, enrolment.device)
    gate.pace(every: Int64(configuration.recheckInterval) * 1_000)
    planner.dateWasSet()
    want(.start)
    log.say(.notice, "reload", "configuration read again")
    restartClient()
  }

  /// The same device with another credential and certificate, which a new connection is made with.
  func adopt(_ next: Enrolment) {
    enrolment = next
    verifier.groups = next.bundle.groups
    restartClient()
  }

  private func restartClient() {
    isRestarting = true
    leave()
  }

  /// Says goodbye. What stands on the presence topic from here on is not to be put right.
  private func leave() {
    client?.stop(last: presence?.offline(isOnline))
    presence?.isBorn = false
  }

  // MARK: The connection

  private func connect() {
    do throws(SystemError) {
      client = try Client(enrolment.clientSettings(configuration), inbox: inbox)
    } catch {
      log.say(.error, "client", "cannot start a client: \(error)")
      set(.restart, 10_000)
    }
  }

  func clientEnded() {
    client = nil
    if isStopping {
      hasEnded = true
    } else if isRestarting {
      isRestarting = false
      connect()
    }
  }

  func show(_ status: String) { service.reports(status) }
}
