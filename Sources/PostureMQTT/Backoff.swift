/// How long to wait before the next attempt: exponential, with full jitter, so that a fleet does not return in step.
public struct Backoff: Hashable, Sendable {
  /// Milliseconds: the ceiling of the first wait, and of every wait, after a loss that may pass by itself.
  public var soon: Int64 = 2_000
  public var soonCap: Int64 = 120_000
  /// The same after a loss that somebody has to do something about; at least half of it is waited.
  public var later: Int64 = 60_000
  public var laterCap: Int64 = 900_000
  /// A connection that lived this long clears the count of failures; a shorter one does not, or two clients with one
  /// name would take over each other at full speed for ever.
  public var stable: Int64 = 60_000

  public init() {}

  /// Milliseconds after `failures` failures in a row before this one.
  func delay(_ kind: ReasonCode.Kind, failures: Int, _ random: inout SplitMix) -> Int64 {
    let doubling = Int64(1) << min(failures, 16)
    switch kind {
    case .version: return 0
    case .soon: return Int64.random(in: 0...min(soonCap, soon * doubling), using: &random)
    case .later:
      let ceiling = min(laterCap, later * doubling)
      return Int64.random(in: ceiling / 2...ceiling, using: &random)
    }
  }
}

/// SplitMix64: a generator whose state is a value, so that a machine that holds it stays one.
public struct SplitMix: RandomNumberGenerator, Hashable, Sendable {
  private var state: UInt64
  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
