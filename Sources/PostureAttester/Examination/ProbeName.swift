import Posture
import PostureProbes

/// The probes that an examination consists of, in their order.
enum ProbeName: String, Sendable, CaseIterable {
  case authPolicy = "auth-policy"
  case keyring

  var probe: any Probe {
    switch self {
    case .authPolicy: AuthPolicyProbe()
    case .keyring: KeyringProbe()
    }
  }

  /// The checks that mean nothing without it. The keyring's need the owners that the other one finds.
  var checks: [CheckName] {
    switch self {
    case .authPolicy: CheckName.allCases.filter { $0 != .disk }
    case .keyring: [.keyring, .deviceBinding, .disk]
    }
  }
}
