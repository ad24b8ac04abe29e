/// Something that has to be shown to open a door.
public enum Factor: UInt8, CaseIterable, Sendable, Comparable {
  // In alphabetical order of their names: the order of every printed set.
  case biometric
  case code
  /// Of the machine: bound to this hardware. Nobody has to prove anything for it.
  case device
  case passcode
  /// An escrowed key.
  case recovery
  /// A security key, a smart card, an SSH key.
  case token

  public var name: String {
    switch self {
    case .biometric: "biometric"
    case .code: "code"
    case .device: "device"
    case .passcode: "passcode"
    case .recovery: "recovery"
    case .token: "token"
    }
  }

  public init?(name: String) {
    guard let factor = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = factor
  }

  public static func < (left: Factor, right: Factor) -> Bool { left.rawValue < right.rawValue }
}

/// A set of factors, all of which are shown at once.
public struct FactorSet: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  public init(_ factors: Factor...) { self = Self(factors) }
  public init(_ factors: some Sequence<Factor>) {
    self.init(rawValue: factors.reduce(0) { $0 | (1 << $1.rawValue) })
  }

  public static let none = FactorSet([] as [Factor])
  /// Every factor that a person can show.
  public static let ofAPerson = FactorSet(.biometric, .code, .passcode, .recovery, .token)

  public func contains(_ factor: Factor) -> Bool { rawValue & (1 << factor.rawValue) != 0 }
  /// In the order of their names.
  public var factors: [Factor] { Factor.allCases.filter(contains) }
  public var asksAPerson: Bool { !isDisjoint(with: .ofAPerson) }

  /// Every subset, this one and the empty one included.
  public var subsets: [FactorSet] {
    (0...rawValue).filter { $0 & ~rawValue == 0 }.map(FactorSet.init(rawValue:))
  }
}
