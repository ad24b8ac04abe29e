import Posture
import PostureMQTT

/// Carries events from the attester's journal to the broker, in order, and acknowledges what the broker has taken: a pure
/// machine. Whatever it forgets is still in the journal.
struct EventPump: Hashable, Sendable {
  enum Event: Hashable, Sendable {
    case online
    case offline
    /// There may be new events.
    case poke
    case pulled(chain: String, [AttesterAnswer.NumberedToken])
    case pullFailed
    case published(eseq: Int64, Session.Outcome)
    /// The attester has taken the acknowledgement, or has not.
    case acknowledged(Bool)
    case time
  }

  enum Action: Hashable, Sendable {
    case pull(after: Int64, limit: Int)
    case publish(AttesterAnswer.NumberedToken)
    case acknowledge(chain: String, eseq: Int64)
    /// The broker refused an event.
    case refused(ReasonCode)
  }

  /// Events on the way at once.
  static let batch = 16
  /// Milliseconds before what failed is tried again; doubles up to the cap.
  static let retry: Int64 = 2_000
  static let retryCap: Int64 = 300_000

  private enum State: Hashable, Sendable {
    case offline
    case idle
    case pulling
    case publishing(chain: String, left: [Int64], taken: Int64?, failed: Bool)
    case acknowledging
    case waiting(until: Int64)
  }

  private var state = State.offline
  private var isPoked = false
  private var failures = 0

  init() {}

  var deadline: Int64? { if case .waiting(let until) = state { until } else { nil } }
  var isOffline: Bool { state == .offline }

  mutating func handle(_ event: Event, at now: Int64) -> [Action] {
    switch (event, state) {
    case (.offline, _):
      state = .offline
      return []
    case (.online, .offline): return pull()
    case (.poke, .idle): return pull()
    case (.poke, _):
      isPoked = true
      return []
    case (.pulled(let chain, let events), .pulling): return publish(chain, events)
    case (.pullFailed, .pulling), (.acknowledged(false), .acknowledging): return rest(now)
    case (.published(let eseq, let outcome), .publishing(let chain, let left, let taken, let failed)):
      return published(eseq, outcome, chain, left, taken, failed, now)
    case (.acknowledged(true), .acknowledging):
      failures = 0
      return pull()
    case (.time, .waiting(let until)) where now >= until: return pull()
    default: return []
    }
  }

  private mutating func pull() -> [Action] {
    state = .pulling
    isPoked = false
    return [.pull(after: 0, limit: Self.batch)]
  }

  private mutating func publish(_ chain: String, _ events: [AttesterAnswer.NumberedToken]) -> [Action] {
    guard !events.isEmpty else {
      state = .idle
      return isPoked ? pull() : []
    }
    state = .publishing(chain: chain, left: events.map(\.eseq), taken: nil, failed: false)
    return events.map(Action.publish)
  }

  /// Only an unbroken row of taken events is acknowledged.
  private mutating func published(
    _ eseq: Int64, _ outcome: Session.Outcome, _ chain: String, _ left: [Int64], _ taken: Int64?, _ failed: Bool,
    _ now: Int64
  ) -> [Action] {
    guard left.contains(eseq) else { return [] }
    let isTaken = outcome == .taken
    var taken = taken
    // The broker answers in order; what was refused, or comes after it, is sent again.
    if isTaken, !failed, left.first == eseq { taken = eseq }
    let failed = failed || !isTaken || left.first != eseq
    let left = left.filter { $0 != eseq }
    var actions: [Action] = []
    if case .refused(let reason) = outcome { actions.append(.refused(reason)) }
    state = .publishing(chain: chain, left: left, taken: taken, failed: failed)
    guard left.isEmpty else { return actions }
    guard let taken else { return actions + rest(now) }
    state = .acknowledging
    return actions + [.acknowledge(chain: chain, eseq: taken)]
  }

  private mutating func rest(_ now: Int64) -> [Action] {
    state = .waiting(until: now + min(Self.retryCap, Self.retry << min(failures, 10)))
    failures += 1
    return []
  }
}
