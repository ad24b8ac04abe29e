import CLinux
import Glibc
import Posture
public import PosturePlatform
import PostureProbes

/// The attester's one loop: its socket, the clients, inotify and the examination that runs, in one poll(2).
public final class AttesterService {
  private static let mostClients = 16
  /// Milliseconds after which the journal gets its hourly chance at the latest.
  private static let hour: Int64 = 3_600_000

  private let attester: Attester
  private let examiner: Examiner
  private let watcher: Watcher
  private let listener: Descriptor
  private let manager = ServiceManager()
  private let allowed: Set<UInt32>
  private var clients: [Int32: Connection] = [:]
  /// Who wants the next examination, and whom the present one is for.
  private var next: [Wish] = []
  private var present: [Wish] = []
  /// What the courier last said of itself.
  private var courier: JSON?

  private struct Wish {
    var client: Int32
    var nonces: [String]
    var cause: ReportCause
  }

  /// - Parameters:
  ///   - root: the directory whose system is examined.
  ///   - listener: a listening socket of the Unix family.
  ///   - courier: the user whose requests are answered, beside root and this process's own.
  public convenience init(
    _ attester: Attester, root: String, listener: consuming Descriptor, courier: UInt32?
  ) {
    self.init(attester, examiner: Examiner(.own(root: root)), root: root, listener: listener, courier: courier)
  }

  init(
    _ attester: Attester, examiner: Examiner, root: String, listener: consuming Descriptor, courier: UInt32?
  ) {
    self.attester = attester
    self.examiner = examiner
    self.listener = listener
    watcher = Watcher(root: root)
    allowed = Set([0, geteuid()] + (courier.map { [$0] } ?? []))
    _ = fcntl(self.listener.number, F_SETFL, O_NONBLOCK)
  }

  /// Answers until SIGTERM or SIGINT comes, or `stop` becomes readable.
  public func run(stop: Int32 = -1) throws(SystemError) {
    let signals = Descriptor(owning: try retrying("signalfd") { clinux_signals() })
    manager.isReady()
    defer { manager.isStopping() }
    while true {
      if manager.watchdog != nil { manager.isAlive() }
      let polled = try wait(signals.number, stop)
      if polled[1].revents != 0 { return }
      if polled[0].revents != 0, isEnd(signals.number) { return }
      if polled[2].revents != 0 { acceptClients() }
      if polled[3].revents != 0 { watcher.collect() }
      if polled[4].revents != 0 { conclude(examiner.collect()) }
      for event in polled.dropFirst(5) where event.revents != 0 { serve(event) }
      conclude(examiner.expire())
      attester.tick()
      if attester.takeOwedLook() { watcher.lookAgain() }
      if watcher.settle() { tellWatchers() }
      flush()
      startExamination()
    }
  }

  private func isEnd(_ signals: Int32) -> Bool {
    while true {
      switch clinux_next_signal(signals) {
      case SIGTERM, SIGINT: return true
      case SIGHUP: continue
      default: return false
      }
    }
  }

  private func wait(_ signals: Int32, _ stop: Int32) throws(SystemError) -> [pollfd] {
    let fixed = [signals, stop, listener.number, watcher.descriptor, examiner.descriptor]
    var polled = fixed.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    polled += clients.map { pollfd(fd: $0.key, events: $0.value.events, revents: 0) }
    let now = Clock.boottimeMilliseconds
    let until =
      [examiner.deadline, watcher.deadline, attester.deadline, manager.watchdog.map { now + $0 }].compactMap { $0 }
      .min()
      ?? now + Self.hour
    let timeout = Int32(clamping: max(0, min(until - now, Self.hour)))
    try retrying("poll") { poll(&polled, nfds_t(polled.count), timeout) }
    return polled
  }

  // MARK: Clients

  private func acceptClients() {
    while let socket = UnixSocket.accept(listener.number) {
      guard clients.count < Self.mostClients, let uid = UnixSocket.peer(socket.number), allowed.contains(uid) else {
        continue
      }
      let number = socket.number
      clients[number] = Connection(socket)
    }
  }

  private func serve(_ event: pollfd) {
    guard let client = clients[event.fd] else { return }
    if event.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 { client.receive() }
    answerRequests(of: client)
  }

  private func answerRequests(of client: Connection) {
    while let request = client.next() {
      switch request {
      case .success(let request): if let answer = answer(request, client) { client.answer(answer) }
      case .failure(let error): client.answer(.failed(code: .badRequest, why: error.description))
      }
    }
  }

  /// Sends what waits, and forgets clients that went.
  private func flush() {
    for (number, client) in clients {
      client.flush()
      guard client.isGone else { continue }
      next.removeAll { $0.client == number }
      present.removeAll { $0.client == number }
      clients[number] = nil
    }
  }

  // MARK: Requests

  /// nil: the answer comes later.
  private func answer(_ request: AttesterRequest, _ client: Connection) -> AttesterAnswer? {
    do throws(AttesterError) { return try tryAnswer(request, client) } catch {
      return .failed(code: error.code, why: error.why)
    }
  }

  private func tryAnswer(_ request: AttesterRequest, _ client: Connection) throws(AttesterError) -> AttesterAnswer? {
    switch request {
    case .report(let nonces, let cause):
      next.append(Wish(client: client.descriptor.number, nonces: nonces, cause: cause))
      client.waiting = .report
      return nil
    case .events(let after, let limit): return try attester.events(after: after, limit: limit)
    case .acknowledge(let chain, let number):
      try attester.acknowledge(chain: chain, upTo: number)
      return .done
    case .presence(let connection): return try attester.presence(connection)
    case .progress(let command, let state): return .token(try attester.progress(command: command, state: state))
    case .refusal(let command, let controller, let code):
      return .token(try attester.refusal(command: command, controller: controller, code: code))
    case .policy(let token):
      try attester.accept(policy: token)
      return .done
    case .trust(let token):
      try attester.accept(trust: token)
      return .done
    case .request(let tls): return .token(try attester.request(tls: tls))
    case .renewal(let token):
      try attester.accept(renewal: token)
      return .done
    case .watch(let after):
      if after != watcher.number { return .changed(number: watcher.number, coverage: watcher.coverage) }
      client.waiting = .watch(after: after)
      return nil
    case .status: return .status(status)
    case .courier(let state):
      courier = state
      return .done
    }
  }

  private var status: JSON {
    .build { object in
      for member in attester.status.members ?? [] { object(member.name, member.value) }
      object(
        "watch",
        [
          "coverage": .string(watcher.coverage.rawValue), "directories": .integer(Int64(watcher.directories)),
          "changes": .integer(watcher.number),
        ])
      if let courier { object("courier", courier) }
    }
  }

  private func tellWatchers() {
    for client in clients.values {
      guard case .watch(let after) = client.waiting, after != watcher.number else { continue }
      client.waiting = nil
      client.answer(.changed(number: watcher.number, coverage: watcher.coverage))
      answerRequests(of: client)
    }
  }

  // MARK: Examinations

  private func startExamination() {
    while !examiner.isRunning, !next.isEmpty {
      var nonces = 0
      let share = next.prefix { wish in
        nonces += wish.nonces.count
        return nonces <= AttesterRequest.nonceCap
      }
      present = Array(share)
      next.removeFirst(share.count)
      conclude(examiner.start())
    }
  }

  /// Signs one report for all whom the examination was for.
  private func conclude(_ examination: Examination?) {
    guard let examination else { return }
    // It takes some milliseconds, which nobody has to wait for where there is nothing new to watch.
    let isFollowing = watcher.isFollowing(examination)
    if !isFollowing { watcher.follow(examination) }
    let answer: AttesterAnswer
    do throws(AttesterError) {
      answer = .token(
        try attester.report(on: examination, nonces: nonces, cause: cause, watch: watcher.coverage))
    } catch { answer = .failed(code: error.code, why: error.why) }
    let askers = present
    present = []
    for client in askers.compactMap({ clients[$0.client] }) where client.waiting == .report {
      client.waiting = nil
      client.answer(answer)
      answerRequests(of: client)
      client.flush()
    }
    examiner.reap()
    if isFollowing { watcher.follow(examination) }
    // The next report is far then: what this one took is not needed until it comes.
    if askers.allSatisfy({ $0.cause != .recheck }) { Heap.rest() }
  }

  /// Each once, in the order in which they came.
  private var nonces: [String] {
    var seen = Set<String>()
    return present.flatMap(\.nonces).filter { seen.insert($0).inserted }
  }

  private var cause: ReportCause {
    present.contains { $0.cause == .recheck } ? .recheck : present.first?.cause ?? .schedule
  }
}
