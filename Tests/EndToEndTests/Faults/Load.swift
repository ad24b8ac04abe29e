import Posture
import PostureAttester
import PosturePlatform
import PostureTokens
import Synchronization
import TestKit

/// Changes the machine again and again and has the attester look each time, so that there are always events on the way.
final class Load: Sendable {
  private struct State {
    var isOver = false
    var reports = 0
    var isOpen = false
  }

  private let state = Mutex(State())
  private let ended: Waker

  init(_ rig: Rig, pause: Int64 = 50) throws {
    ended = try Waker()
    let (tree, socket) = (rig.tree, rig.socketPath)
    _ = try Thread.start("load") { [self] in
      var client: AttesterClient?
      while !state.withLock({ $0.isOver }) {
        Clock.sleep(milliseconds: pause)
        let isOpen = state.withLock { state in
          state.isOpen.toggle()
          return state.isOpen
        }
        try? tree.write("/etc/shadow", isOpen ? SmallMachine.openShadow : SmallMachine.shadow, mode: 0o600)
        // The attester may be dead just now.
        if client == nil { client = try? AttesterClient(socket) }
        if (try? client?.ask(.report(nonces: [], cause: .schedule), timeout: 5_000)) == nil {
          client = nil
        } else {
          state.withLock { $0.reports += 1 }
        }
      }
      ended.wake()
    }
  }

  /// Ends it, the machine in the state that `rig` knows of; how many reports were made.
  func stop(_ rig: Rig) throws -> Int {
    state.withLock { $0.isOver = true }
    _ = ended.wait(10_000)
    let (reports, isOpen) = state.withLock { ($0.reports, $0.isOpen) }
    try rig.change(open: isOpen)
    return reports
  }
}
