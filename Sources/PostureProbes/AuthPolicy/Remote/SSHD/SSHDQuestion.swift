import PosturePlatform
import Synchronization

/// One question to the sshd of this machine (sshd(8), `-T`). An answer costs as much as all the rest of an examination:
/// it is given once, and may be asked for long before it is needed.
final class SSHDQuestion: Sendable {
  private struct State: ~Copyable {
    var running: RunningCommand?
    /// nil until sshd has answered, or failed to.
    var answer: String??
  }

  let arguments: [String]
  private let state = Mutex(State())

  init(_ arguments: [String]) { self.arguments = arguments }

  /// Starts sshd and does not wait for it; once is enough.
  func ask() {
    state.withLock { state in
      if state.running == nil, state.answer == nil { state.running = Tool.sshd.start(arguments) }
    }
  }

  /// Ends what nobody needs the answer of.
  func withdraw() { state.withLock { $0.running = nil } }

  /// What it printed; nil where it said nothing that can be used.
  var answer: String? {
    state.withLock { state in
      if let known = state.answer { return known }
      let answer = Self.read(state.running.take() ?? Tool.sshd.start(arguments))
      state.answer = .some(answer)
      return answer
    }
  }

  private static func read(_ running: consuming RunningCommand?) -> String? {
    guard let running, let output = try? running.finish(), output.status == 0 else { return nil }
    return String(decoding: output.out, as: UTF8.self)
  }
}
