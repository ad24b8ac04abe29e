public import Posture
import PosturePlatform

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

  public func run(on system: System) -> ProbeResult { run(on: system) {}.facts }

  /// The same with something else that is to be found out beside it.
  func run<Other: Sendable>(
    on system: System, and other: @escaping @Sendable () -> Other
  ) -> (facts: ProbeResult, other: Other) {
    system.sharing {
      let context = AuthContext(system)
      let (inside, outside) = Thread.both(
        "inside", { (doors: Self.elevation.map { $0(context) }, other: other()) },
        { (entry: Self.entry(context), last: Self.last.map { $0(context) }) })
      return (examine(context, outside.entry + inside.doors + outside.last), inside.other)
    }
  }

  private func examine(_ context: AuthContext, _ doors: [ProbeResult]) -> ProbeResult {
    var result = ProbeResult()
    result.add(context.accounts.result)
    for part in doors { result.add(part) }
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

  // MARK: Doors, in the order in which people come to them

  private typealias Look = @Sendable (AuthContext) -> ProbeResult

  /// Those that depend on what is started.
  private static func entry(_ context: AuthContext) -> [ProbeResult] {
    for server in context.sshd { server.askAhead() }
    let before = entryBeforeSSH.map { $0(context) }
    let after = entryAfterSSH.map { $0(context) }
    // Last, for sshd takes its time to answer.
    return before + [SSHDoors.look(context)] + after
  }

  private static let entryBeforeSSH: [Look] = [ConsoleDoors.look, GraphicalDoors.look, FirstBoot.look, BootDoors.look]
  private static let entryAfterSSH: [Look] = [OtherRemoteDoors.look, UnlockDoors.look, IdleDoors.look]

  /// Those that depend on accounts and rules.
  private static let elevation: [Look] = [SudoDoors.look, SuDoors.look, DoasDoors.look, PolkitDoors.look]
  /// Those that depend on little, so that both threads are done at about the same time.
  private static let last: [Look] = [GroupDoors.look, PasswordPolicyCheck.look]
}
