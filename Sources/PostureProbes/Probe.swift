public import Posture

/// One way of looking at a system: facts in, no judgement.
public protocol Probe: Sendable {
  /// `auth-policy`, `keyring`.
  var name: String { get }
  func run(on system: System) -> ProbeResult
}
