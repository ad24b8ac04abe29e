import CLinux
import Glibc
public import PosturePlatform
import Synchronization

/// One thread that waits for the sockets and deadlines of any number of clients.
public final class Loop: Sendable {
  enum Command: Sendable {
    case add(UInt64, Client.Settings, Receiver)
    case event(UInt64, Session.Event)
    case prepare(UInt64, Client.Preparation)
    /// Something about this client has changed: look whether it may read again.
    case look(UInt64)
    case remove(UInt64)
    case end
  }

  /// Where a client's events go; called on the loop's thread.
  struct Receiver: Sendable {
    var put: @Sendable (ClientEvent) -> Void
    var isFull: @Sendable () -> Bool
  }

  /// Commands from other threads.
  final class Mailbox: Sendable {
    private let commands = Mutex<[Command]>([])
    let waker: Waker

    init() throws(SystemError) { waker = try Waker() }

    func post(_ command: Command) {
      // The thread takes all of them at once, after it has cleared the waker.
      let isFirst = commands.withLock { commands in
        commands.append(command)
        return commands.count == 1
      }
      if isFirst { waker.wake() }
    }

    var isEmpty: Bool { commands.withLock { $0.isEmpty } }

    func take() -> [Command] {
      waker.clear()
      return commands.withLock { commands in
        defer { commands = [] }
        return commands
      }
    }
  }

  let mailbox: Mailbox
  private let counter = Atomic<UInt64>(1)
  /// Times the thread has woken up.
  private let wakeUps: WakeUps

  private final class WakeUps: Sendable {
    let count = Atomic<Int>(0)
  }

  public init() throws(SystemError) {
    let mailbox = try Mailbox()
    let epoll = Descriptor(owning: try retrying("epoll_create") { clinux_epoll() })
    try retrying("epoll_ctl") {
      clinux_epoll_watch(epoll.number, mailbox.waker.number, UInt32(POLLIN), 0)
    }
    let number = epoll.release()
    let wakeUps = WakeUps()
    self.mailbox = mailbox
    self.wakeUps = wakeUps
    _ = try Thread.start("mqtt") {
      let turns = Turns(mailbox, Descriptor(owning: number))
      while turns.turn() { wakeUps.count.add(1, ordering: .relaxed) }
    }
  }

  deinit { mailbox.post(.end) }

  func add(_ settings: Client.Settings, _ receiver: Receiver) -> UInt64 {
    let id = counter.add(1, ordering: .relaxed).oldValue
    mailbox.post(.add(id, settings, receiver))
    return id
  }

  /// How often the thread has woken up since it started.
  public var wakeUpCount: Int { wakeUps.count.load(ordering: .relaxed) }
}

/// What the loop's thread owns.
private final class Turns {
  private let mailbox: Loop.Mailbox
  private let epoll: Descriptor
  private var members: [UInt64: Member] = [:]
  /// At or before the first deadline of any member.
  private var nextDeadline: Int64?
  /// Milliseconds this machine has slept since it started.
  private var asleep = Turns.asleepNow

  private static var asleepNow: Int64 { Clock.boottimeMilliseconds - Clock.monotonicMilliseconds }

  init(_ mailbox: Loop.Mailbox, _ epoll: consuming Descriptor) {
    self.mailbox = mailbox
    self.epoll = epoll
  }

  /// Waits once and does what there is to do; false at the end.
  func turn() -> Bool {
    var tags = [UInt64](repeating: 0, count: 64)
    var events = [UInt32](repeating: 0, count: 64)
    let count = clinux_epoll_wait(epoll.number, &tags, &events, 64, timeout)
    noticeSleep()
    for (tag, event) in zip(tags, events).prefix(Int(max(0, count))) {
      if tag == 0 {
        guard obey(mailbox.take()) else { return false }
      } else if let member = members[tag] {
        touch(tag, member) { $0.proceed(event) }
      }
    }
    // What these clients were told to do in return goes first: the waker's turn comes only after all that have read.
    if !mailbox.isEmpty, !obey(mailbox.take()) { return false }
    meetDeadlines()
    return true
  }

  private var timeout: Int32 {
    nextDeadline.map { Int32(clamping: max(0, $0 - Clock.monotonicMilliseconds)) } ?? -1
  }

  private func obey(_ commands: [Loop.Command]) -> Bool {
    for command in commands {
      switch command {
      case .add(let id, let settings, let receiver): members[id] = Member(settings, receiver)
      case .event(let id, let event): members[id].map { touch(id, $0) { $0.handle(event) } }
      case .prepare(let id, let preparation): members[id].map { touch(id, $0) { $0.prepare(preparation) } }
      case .look(let id): members[id].map { touch(id, $0) { _ in } }
      case .remove(let id): members[id] = nil
      case .end: return false
      }
    }
    return true
  }

  private func touch(_ id: UInt64, _ member: Member, _ body: (Member) -> Void) {
    body(member)
    if let (descriptor, events) = member.newInterest() { clinux_epoll_watch(epoll.number, descriptor, events, id) }
    if let deadline = member.deadline { nextDeadline = min(deadline, nextDeadline ?? deadline) }
  }

  private func meetDeadlines() {
    // With few members the deadline is kept exact, so that a settled one wakes nobody.
    let now = Clock.monotonicMilliseconds
    guard members.count <= 16 || nextDeadline.map({ now >= $0 }) == true else { return }
    nextDeadline = nil
    for (id, member) in members {
      guard let deadline = member.deadline else { continue }
      if now >= deadline { touch(id, member) { $0.meet(now) } }
      if let deadline = member.deadline { nextDeadline = min(deadline, nextDeadline ?? deadline) }
    }
  }

  private func noticeSleep() {
    let slept = Self.asleepNow - asleep
    guard slept > 0 else { return }
    asleep += slept
    for (id, member) in members where slept > Int64(member.keepalive) * 1_000 {
      touch(id, member) { $0.handle(.slept) }
    }
  }
}
