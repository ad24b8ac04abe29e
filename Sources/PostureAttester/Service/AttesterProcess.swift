import CLinux
public import Glibc
import Posture
public import PosturePlatform

/// The attester as a process: alone under a service manager, or kept alive by one of its own kind.
public enum AttesterProcess {
  /// Answers on `listener` until it is told to end. Privileges have been given up already.
  public static func serve(_ settings: AttesterSettings, on listener: consuming Descriptor) throws(AttesterError) {
    let identity = try DeviceIdentity.load(settings.folder)
    var options = Attester.Options()
    if let life = settings.reportLife { options.reportLife = life }
    let attester = try Attester(
      folder: settings.folder, identity: identity, clock: .system(isTrusted: settings.trustsClock), options: options)
    let service = AttesterService(attester, root: settings.root, listener: listener, courier: settings.courier)
    do throws(SystemError) { try service.run() } catch { throw AttesterError(.internal, error.description) }
  }

  /// Makes the socket and gives up privileges.
  public static func prepare(_ settings: AttesterSettings) throws(SystemError) -> Descriptor {
    let listener = try UnixSocket.listen(settings.socket, owner: geteuid() == 0 ? settings.courier : nil)
    try Privilege.reduce(to: settings.user)
    return listener
  }

  /// Keeps a serving process alive on one socket, so that nobody who is connected later notices that it fell over.
  /// Returns after SIGTERM or SIGINT.
  public static func keep(_ settings: AttesterSettings) throws(SystemError) {
    let listener = try prepare(settings)
    // Undone by the change of uid: whoever started this one wants it to end with them.
    clinux_end_with_parent(SIGTERM)
    let signals = Descriptor(owning: try retrying("signalfd") { clinux_signals_and_children() })
    var keeper = Keeper(arguments: ["attest", "--inherited"] + settings.arguments)
    try keeper.run(listener.number, signals.number)
  }

  /// Starts ``keep(_:)`` in a process of this binary that ends with the calling thread. As root it changes to
  /// ``AttesterSettings/user`` by itself.
  public static func start(_ settings: AttesterSettings) throws(SystemError) -> pid_t {
    try Command.spawn(
      "/proc/self/exe", ["attest", "--keep"] + settings.arguments,
      ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"], in: -1, out: 1, err: 2)
  }
}

/// Starts the serving process again whenever it ends, more slowly each time it does so at once.
private struct Keeper {
  private static let quickly: Int64 = 10_000
  private static let longestPause: Int64 = 30_000

  let arguments: [String]
  private var pause: Int64 = 100

  init(arguments: [String]) { self.arguments = arguments }

  mutating func run(_ listener: Int32, _ signals: Int32) throws(SystemError) {
    while true {
      let began = Clock.boottimeMilliseconds
      let pid = try Command.spawn(
        "/proc/self/exe", arguments, ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"], in: listener, out: 1, err: 2)
      guard hasEnded(pid, signals) else { return }
      pause = Clock.boottimeMilliseconds - began > Self.quickly ? 100 : min(pause * 2, Self.longestPause)
      guard !isTold(signals, until: Clock.boottimeMilliseconds + pause) else { return }
    }
  }

  /// False where this one was told to end, and has ended the other.
  private func hasEnded(_ pid: pid_t, _ signals: Int32) -> Bool {
    while waitpid(pid, nil, WNOHANG) == 0 {
      var polled = pollfd(fd: signals, events: Int16(POLLIN), revents: 0)
      poll(&polled, 1, -1)
      guard isEnd(clinux_next_signal(signals)) else { continue }
      kill(pid, SIGTERM)
      waitpid(pid, nil, 0)
      return false
    }
    return true
  }

  private func isTold(_ signals: Int32, until deadline: Int64) -> Bool {
    while true {
      let left = deadline - Clock.boottimeMilliseconds
      guard left > 0 else { return false }
      var polled = pollfd(fd: signals, events: Int16(POLLIN), revents: 0)
      if poll(&polled, 1, Int32(left)) > 0, isEnd(clinux_next_signal(signals)) { return true }
    }
  }

  private func isEnd(_ signal: Int32) -> Bool { signal == SIGTERM || signal == SIGINT }
}
