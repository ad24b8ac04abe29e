/// What opens a door: the minimal sets of factors, an antichain under inclusion.
///
/// `[[]]` opens with nothing, `[]` never opens.
public struct Opening: Hashable, Sendable {
  /// Minimal sets only, sorted by size and then by text.
  public let sets: [FactorSet]

  /// Keeps the minimal ones of `sets`.
  public init(_ sets: some Sequence<FactorSet>) {
    let distinct = Set(sets)
    self.sets = distinct.filter { set in !distinct.contains { $0 != set && $0.isSubset(of: set) } }
      .sorted { ($0.factors.count, Self.text($0)) < ($1.factors.count, Self.text($1)) }
  }

  public init(_ sets: [Factor]...) { self.init(sets.map { FactorSet($0) }) }

  /// Nobody gets in.
  public static let never = Opening([] as [FactorSet])
  /// Nothing is needed.
  public static let always = Opening([FactorSet.none])
  public static let passcode = Opening([.passcode])

  /// Either way in will do.
  public func or(_ other: Opening) -> Opening { Opening(sets + other.sets) }

  /// Both have to be passed, one after the other.
  public func and(_ other: Opening) -> Opening {
    Opening(sets.flatMap { mine in other.sets.map { mine.union($0) } })
  }

  public var answer: Answer {
    if sets.isEmpty { return .closed }
    return sets.contains { !$0.asksAPerson } ? .notRequired : .required
  }

  /// Every way in is bound to this hardware (and there is one).
  public var isDeviceBound: Bool { !sets.isEmpty && sets.allSatisfy { $0.contains(.device) } }

  private static func text(_ set: FactorSet) -> String { set.factors.map(\.name).joined(separator: ",") }

  public var json: JSON { .array(sets.map { .array($0.factors.map { .string($0.name) }) }) }
}

/// The answer to "does a person have to prove something here", as it follows from what opens the door.
public enum Answer: String, Sendable, CaseIterable {
  case required, notRequired, closed, unknown
}
