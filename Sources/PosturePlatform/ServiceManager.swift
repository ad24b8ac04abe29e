import CLinux
import Glibc

/// What started this process and wants to hear how it fares: systemd, by sd_notify(3) and sd_listen_fds(3). Everything
/// here does nothing where it was started by hand.
public struct ServiceManager: Sendable {
  private let path: String?
  /// Milliseconds within which the next sign of life is due: half of what the manager waits. nil: it wants none.
  public let watchdog: Int64?

  /// Reads the environment.
  public init() {
    path = Self.variable("NOTIFY_SOCKET").flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
    let isForUs = Self.variable("WATCHDOG_PID").map { $0 == String(getpid()) } ?? true
    watchdog =
      isForUs ? Self.variable("WATCHDOG_USEC").flatMap { Int64($0) }.map { max(1, $0 / 2_000) } : nil
  }

  /// The first socket that was handed over, already listening; the caller owns it.
  public static func handedSocket() -> Descriptor? {
    guard variable("LISTEN_PID") == String(getpid()), variable("LISTEN_FDS").flatMap({ Int($0) }) ?? 0 >= 1 else {
      return nil
    }
    let first: Int32 = 3
    _ = fcntl(first, F_SETFD, FD_CLOEXEC)
    return Descriptor(owning: first)
  }

  private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// `status` is a line for people.
  public func isReady(_ status: String? = nil) { tell("READY=1" + (status.map { "\nSTATUS=\($0)" } ?? "")) }
  public func isReloading() { tell("RELOADING=1\nMONOTONIC_USEC=\(Clock.monotonicNanoseconds / 1_000)") }
  /// A line for people.
  public func reports(_ status: String) { tell("STATUS=\(status)") }
  public func isAlive() { tell("WATCHDOG=1") }
  public func isStopping() { tell("STOPPING=1") }

  private func tell(_ state: String) {
    guard let path else { return }
    _ = Array(state.utf8).withUnsafeBufferPointer { clinux_notify(path, $0.baseAddress, $0.count) }
  }
}
