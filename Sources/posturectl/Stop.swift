import Glibc
import Synchronization

/// Whether somebody wants this process to end.
enum Stop {
  private static let flag = Atomic<Bool>(false)

  static var isAsked: Bool { flag.load(ordering: .relaxed) }

  /// SIGINT and SIGTERM ask for the end instead of bringing it, so that the terminal is left as it was found.
  static func onSignals() {
    for number in [SIGINT, SIGTERM, SIGHUP] { signal(number) { _ in Stop.flag.store(true, ordering: .relaxed) } }
  }
}
