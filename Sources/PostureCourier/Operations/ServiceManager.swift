import Glibc
import PosturePlatform

/// What systemd wants to hear of a service: datagrams on a Unix socket (sd_notify(3)). Nothing where there is none.
final class ServiceManager {
  private let path: String?
  /// Milliseconds within which the next sign of life is due; half of what systemd waits.
  let watchdog: Int64?

  init() {
    path = Self.variable("NOTIFY_SOCKET").flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
    let isOurs = Self.variable("WATCHDOG_PID").flatMap { pid_t($0) }.map { $0 == getpid() } ?? true
    watchdog = isOurs ? Self.variable("WATCHDOG_USEC").flatMap { Int64($0) }.map { max(1, $0 / 2_000) } : nil
  }

  private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  func ready(_ status: String) { tell("READY=1\nSTATUS=\(status)") }
  func reloading() { tell("RELOADING=1\nMONOTONIC_USEC=\(Clock.monotonicNanoseconds / 1_000)") }
  func stopping() { tell("STOPPING=1") }
  func isAlive() { tell("WATCHDOG=1") }
  func status(_ text: String) { tell("STATUS=\(text)") }

  private func tell(_ text: String) {
    guard let path else { return }
    let socket = Descriptor(
      owning: socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
    withUnsafeMutableBytes(of: &address.sun_path) { bytes in
      bytes.copyBytes(from: path.utf8)
      // An abstract name begins with a zero byte.
      if path.hasPrefix("@") { bytes[0] = 0 }
    }
    let size = socklen_t(MemoryLayout<sa_family_t>.size + path.utf8.count)
    let bytes = Array(text.utf8)
    _ = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(socket.number, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, size)
      }
    }
  }
}
