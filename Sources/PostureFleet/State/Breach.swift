import Posture

/// What an operator has to look at and accept before a device's chain of events, or its key, counts as normal again.
public enum Breach: String, Sendable, CaseIterable {
  /// Events are missing, or contradict each other, and the device did not declare it.
  case chainBroken
  /// Two different messages were signed with one number of one key.
  case equivocation
  /// Two machines use one key.
  case cloned
  /// The device itself declared, signed, that it lost events. A warning: its verdict counts as before.
  case declaredLoss

  /// nil for a warning.
  var condition: Condition? { Condition(rawValue: rawValue) }
}

/// A breach that was noticed and not accepted yet, and what was seen of it.
public struct OpenBreach: Hashable, Sendable {
  public var breach: Breach
  /// The chain that it is of; empty where it is of the key.
  public var chain: String
  public var text: String

  /// It is of the key and not of a chain.
  static let equivocation = OpenBreach(.equivocation, chain: "", text: "two messages under one number")

  public init(_ breach: Breach, chain: String, text: String) {
    self.breach = breach
    self.chain = chain
    self.text = text
  }

  var json: JSON { ["breach": .string(breach.rawValue), "text": .string(text)] }
}
