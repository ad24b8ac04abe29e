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

  public func run(on system: System) -> ProbeResult { system.sharing { examine(system) } }

  private func examine(_ system: System) -> ProbeResult {
    let context = AuthContext(system)
    var result = ProbeResult()
    result.add(context.accounts.result)
    let early = Self.doorsBeforeSSH.map { $0(context) }
    let late = Self.doorsAfterSSH.map { $0(context) }
    // Last, for sshd takes its time to answer.
    let ssh = SSHDoors.look(context)
    for part in early + [ssh] + late { result.add(part) }
    result.add(BiometricsCheck.look(context, result.doors))
    result.add(ServiceDoors.look(context, services: services))
    addServices(context.accounts, to: &result)
    restrict(&result, context.accounts)
    return result
  }

  /// Service accounts are subjects only where one of their doors is not closed.
  private func addServices(_ accounts: Accounts, to result: inout ProbeResult) {
    let inside = Set(result.doors.filter { $0.answer != .closed }.map(\.subject))
    let services = Set(accounts.services.map(\.name))
    result.subjects += accounts.services.filter { inside.contains($0.name) }.map(Accounts.subject)
    result.doors.removeAll { services.contains($0.subject) && !inside.contains($0.subject) }
  }

  /// Keeps the rows of the users that were asked for, and those of everybody.
  private func restrict(_ result: inout ProbeResult, _ accounts: Accounts) {
    guard !users.isEmpty else { return }
    result.restrict(to: users)
    let external = accounts.externalSources.map { "external:\($0)" }
    for user in users where accounts[user] == nil && !external.contains(user) {
      let cause = Cause("unknownUser", observed: "no account named \(user) is on this system", evidence: [])
      result.remarks.append(Remark(cause, check: .passcode, subject: user))
    }
  }

  /// In the order in which people come to these doors.
  private static let doorsBeforeSSH: [@Sendable (AuthContext) -> ProbeResult] = [
    ConsoleDoors.look, GraphicalDoors.look, FirstBoot.look, BootDoors.look,
  ]
  private static let doorsAfterSSH: [@Sendable (AuthContext) -> ProbeResult] = [
    OtherRemoteDoors.look, UnlockDoors.look, IdleDoors.look, SudoDoors.look, SuDoors.look, DoasDoors.look,
    PolkitDoors.look, GroupDoors.look, PasswordPolicyCheck.look,
  ]
}
