public import Posture

/// The auth-policy question: who gets in where, and with what.
public struct AuthPolicyProbe: Probe {
  public let name = "auth-policy"
  /// PAM services that the caller asks about with `--service`.
  public var services: [String]
  /// Subjects to report; empty: all.
  public var users: [String]

  public init(services: [String] = [], users: [String] = []) {
    self.services = services
    self.users = users
  }

  public func run(on system: System) -> ProbeResult {
    let context = AuthContext(system)
    var result = ProbeResult()
    result.add(context.accounts.result)
    for part in Self.parts { result.add(part(context)) }
    result.add(ServiceDoors.look(context, services: services))
    return result
  }

  /// In the order in which people come to these doors.
  private static let parts: [@Sendable (AuthContext) -> ProbeResult] = [
    ConsoleDoors.look, GraphicalDoors.look, BootDoors.look, SSHDoors.look, OtherRemoteDoors.look,
    UnlockDoors.look, IdleDoors.look, SudoDoors.look, SuDoors.look, DoasDoors.look, PolkitDoors.look, GroupDoors.look,
    BiometricsCheck.look, PasswordPolicyCheck.look,
  ]
}
