public import Posture
import PosturePlatform

/// Both questions at once, the same system seen by both.
public struct DeviceProbe: Probe {
  public let name = "device"
  private let policy: AuthPolicyProbe
  private let keyring: KeyringProbe

  /// - Parameters:
  ///   - services: PAM services that the caller asks about.
  ///   - users: subjects to report; empty: all.
  public init(services: [String] = [], users: [String] = []) {
    policy = AuthPolicyProbe(services: services, users: users)
    keyring = KeyringProbe(users: users)
  }

  public func run(on system: System) -> ProbeResult {
    system.sharing {
      var (facts, secrets) = policy.run(on: system) { [keyring] in keyring.run(on: system) }
      facts.add(secrets)
      return facts
    }
  }
}
