/// Every order of events of a pure machine, to a depth: breadth first over its states.
public enum Exploration {
  public struct Result: Sendable {
    /// Different states reached.
    public var states = 0
    /// Transitions tried.
    public var steps = 0
    /// The orders of events after which an invariant did not hold, with its name; the first few.
    public var failures: [String] = []
  }

  /// - Parameters:
  ///   - events: what may happen in a state.
  ///   - step: makes it happen and names the invariants that do not hold.
  public static func run<State: Hashable, Event>(
    from start: State, depth: Int, cap: Int = 2_000_000, events: (State) -> [Event],
    step: (inout State, Event) -> [String]
  ) -> Result {
    var result = Result()
    var seen: Set<State> = [start]
    var frontier: [(State, [Event])] = [(start, [])]
    for _ in 0..<depth {
      var next: [(State, [Event])] = []
      for (state, path) in frontier {
        for event in events(state) {
          var moved = state
          let broken = step(&moved, event)
          result.steps += 1
          if !broken.isEmpty, result.failures.count < 10 {
            result.failures.append("\(broken) after \(path + [event])")
          }
          guard broken.isEmpty, seen.count < cap, seen.insert(moved).inserted else { continue }
          next.append((moved, path + [event]))
        }
      }
      frontier = next
    }
    result.states = seen.count
    return result
  }
}
