import CLinux
import Glibc
import PosturePlatform

/// Starts the serving process again whenever it ends, more slowly each time it does so at once, and ends one that gives no
/// sign of life any more: to its child it is what systemd is elsewhere.
struct Keeper: ~Copyable {
  private static let quickly: Int64 = 10_000
  private static let longestPause: Int64 = 30_000
  /// Milliseconds, as WatchdogSec= of the unit file.
  private static let watchdog: Int64 = 120_000

  private let arguments: [String]
  private let environment: [String]
  private let signals: Int32
  private let parent: Int32
  private let signsOfLife: Descriptor
  private var pause: Int64 = 100

  /// - Parameters:
  ///   - arguments: of this binary, for the process to keep.
  ///   - signals: a signalfd for the children's end and our own.
  ///   - parent: the reading end of a pipe that nobody writes to, or -1.
  init(arguments: [String], signals: Int32, parent: Int32) throws(SystemError) {
    self.arguments = arguments
    self.signals = signals
    self.parent = parent
    var name = [CChar](repeating: 0, count: Int(CLINUX_NOTIFY_NAME))
    signsOfLife = Descriptor(owning: try retrying("socket") { clinux_notify_listener(&name) })
    let address = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    environment = [
      "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "NOTIFY_SOCKET=\(address)",
      "WATCHDOG_USEC=\(Self.watchdog * 1_000)",
    ]
  }

  /// Returns after SIGTERM or SIGINT, and when the parent has gone.
  mutating func run(_ listener: Int32) throws(SystemError) {
    while true {
      let began = Clock.boottimeMilliseconds
      let pid = try Command.spawn("/proc/self/exe", arguments, environment, in: listener, out: 1, err: 2)
      guard hasEnded(pid) else { return }
      pause = Clock.boottimeMilliseconds - began > Self.quickly ? 100 : min(pause * 2, Self.longestPause)
      guard !isTold(until: Clock.boottimeMilliseconds + pause) else { return }
    }
  }

  /// False where this one was told to end, and has ended the other.
  private func hasEnded(_ pid: pid_t) -> Bool {
    // Of a clock that stands still while the machine sleeps: so does the other.
    var heardAt = Clock.monotonicMilliseconds
    while waitpid(pid, nil, WNOHANG) == 0 {
      let left = heardAt + Self.watchdog - Clock.monotonicMilliseconds
      guard left > 0 else {
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
        return true
      }
      guard isToldNow(waiting: Int32(left)) else {
        if hasSpoken { heardAt = Clock.monotonicMilliseconds }
        continue
      }
      kill(pid, SIGTERM)
      waitpid(pid, nil, 0)
      return false
    }
    return true
  }

  /// Whatever it says, it is alive.
  private var hasSpoken: Bool {
    var byte: UInt8 = 0
    var isAlive = false
    while recv(signsOfLife.number, &byte, 1, 0) >= 0 { isAlive = true }
    return isAlive
  }

  private func isTold(until deadline: Int64) -> Bool {
    while true {
      let left = deadline - Clock.boottimeMilliseconds
      guard left > 0 else { return false }
      if isToldNow(waiting: Int32(left)) { return true }
      _ = hasSpoken
    }
  }

  /// Waits for anything at all; true where it means the end.
  private func isToldNow(waiting milliseconds: Int32) -> Bool {
    var polled = [signals, parent, signsOfLife.number].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    guard poll(&polled, nfds_t(polled.count), milliseconds) > 0 else { return false }
    if polled[1].revents & Int16(POLLHUP) != 0 { return true }
    let signal = polled[0].revents == 0 ? -1 : clinux_next_signal(signals)
    return signal == SIGTERM || signal == SIGINT
  }
}
