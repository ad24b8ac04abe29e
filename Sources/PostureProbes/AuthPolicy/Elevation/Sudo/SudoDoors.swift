import Posture

/// `sudo`, `sudo:<command>`.
struct SudoDoors {
  static func look(_ context: AuthContext) -> ProbeResult {
    guard isInstalled(context.system) else { return ProbeResult() }
    var doors = SudoDoors(context)
    doors.look()
    return doors.result
  }

  private let context: AuthContext
  private let reading: SudoersReading?
  private let judge: SudoersJudge
  private let isWithoutPAM: Bool
  private var result = ProbeResult()

  /// The program is there, or its rules are and no package database says that it was removed.
  private static func isInstalled(_ system: System) -> Bool {
    if Programs.has("sudo", system) { return true }
    guard !system.isLive, SudoersSource.mainFile(on: system) != nil else { return false }
    return !PackageDatabase.of(system).isRemoved(.sudo)
  }

  private init(_ context: AuthContext) {
    self.context = context
    let system = context.system
    var host = HostName(system)
    let main = SudoersSource.mainFile(on: system)
    reading = main.map { SudoersReading($0, on: system, hostName: host.name) }
    host.isResolved = SudoProgram.resolvesHost(reading?.sudoers.settings ?? [], system)
    judge = SudoersJudge(
      sudoers: reading?.sudoers ?? Sudoers(), accounts: context.accounts, groups: GroupNumbers.of(system), host: host,
      now: CalendarTime.text(system.now) + "Z", main: Place(main ?? "/etc/sudoers"))
    isWithoutPAM = ProofWithoutPAM.applies(to: system)
  }

  private mutating func look() {
    for account in context.accounts.owners { addRows(account.name, .account(account)) }
    for source in context.accounts.externalSources { addRows("external:\(source)", .external) }
    for account in context.accounts.services { addServiceRow(account) }
    noteProblems()
    noteStrangers()
  }

  // MARK: Rows

  private mutating func addRows(_ subject: String, _ person: SudoersJudge.Person) {
    let whole = row("sudo", .any, subject, person)
    result.doors.append(whole)
    // Who runs anything without proof gains nothing by a single command.
    guard whole.answer != .notRequired, shutReason == nil else { return }
    for command in assumed(true).namedCommands(for: person).prefix(200) {
      var one = row("sudo:\(command)", .named(command), subject, person)
      guard one.opening != whole.opening || one.whose != whole.whose else { continue }
      one.counts =
        assumed(true).decide(.named(command), for: person).setsEnvironment
        || CommandPower.isRoot(command, for: person.account, context.system)
      if one.answer == .notRequired, one.cause?.code == "sudoNoPassword" {
        one.cause?.code = one.counts ? "sudoCommandIsRoot" : "sudoCommandNoPassword"
      }
      result.doors.append(one)
    }
  }

  /// A service account's row is shown where it is not closed and a rule is meant for it; it counts in no check.
  private mutating func addServiceRow(_ account: Account) {
    guard shutReason == nil, !account.isRoot else { return }
    let decision = assumed(false).decide(.any, for: .account(account))
    guard decision.isAllowed, decision.isPersonal || !decision.asksPassword else { return }
    var door = row("sudo", .any, account.name, .account(account))
    guard door.answer != .closed else { return }
    door.counts = false
    if door.cause?.code == "sudoNoPassword" { door.cause?.code = "sudoServiceNoPassword" }
    result.doors.append(door)
  }

  private func assumed(_ value: Bool) -> SudoersJudge {
    var judge = judge
    judge.assumption = value
    return judge
  }

  private func row(
    _ name: String, _ command: SudoersJudge.Command, _ subject: String, _ person: SudoersJudge.Person
  ) -> Door {
    if let shutReason { return Door(name, .elevation, subject, .never, because: [shutReason]) }
    let (opening, whose) = outcome(assumed(false).decide(command, for: person), command, person)
    var (other, _) = outcome(assumed(true).decide(command, for: person), command, person)
    if let hidden, opening.opening?.answer != .notRequired { other = hidden }
    let final = opening.opening == other.opening ? opening : undecided(opening, other)
    var door = Door(
      name, .elevation, subject, final.opening, because: (reading.map { [$0.reason] } ?? []) + final.because,
      cause: final.cause)
    door.whose = final.opening == nil || final.opening == .never ? nil : whose
    return door
  }

  /// Rules that cannot be seen: a file that may not be read, or a directory that is asked too.
  private var hidden: PAM.Outcome? {
    if let file = reading?.source.unreadable.first {
      return PAM.Outcome(
        opening: nil, because: [Reason("sudo.unreadable", file.place)],
        cause: Cause("unreadable", observed: file.observed, evidence: [file.place]))
    }
    guard let directory = SudoDirectory.place(context) else { return nil }
    return PAM.Outcome(
      opening: nil, because: [Reason("sudo.directory", directory)],
      cause: Cause("unknownDoor", observed: "further rules of sudo come from a directory", evidence: [directory]))
  }

  private func undecided(_ one: PAM.Outcome, _ other: PAM.Outcome) -> PAM.Outcome {
    guard let opening = other.opening else { return other }
    let words = "a rule for a person or host that the local files do not tell would make it \(opening.answer.rawValue)"
    return PAM.Outcome(
      opening: nil, because: one.because + other.because + [Reason("sudo.membershipUnknown")],
      cause: Cause("unknownDoor", observed: words, evidence: other.because.first?.place.map { [$0] }))
  }

  /// Why sudo works for nobody.
  private var shutReason: Reason? {
    guard let reading else { return Reason("sudo.noSudoers", file: "/etc/sudoers") }
    if reading.source.unreadable.isEmpty, !reading.source.isUsable {
      return Reason("sudo.sudoersRefused", reading.source.problems.first?.place)
    }
    if context.system.isLive, let path = Programs.path("sudo", context.system),
      let status = try? context.system.status(path), status.owner != 0 || status.mode & 0o4000 == 0
    {
      return Reason("sudo.notSetuid", file: path)
    }
    return nil
  }

  // MARK: Proof

  private func outcome(
    _ decision: SudoersJudge.Decision, _ command: SudoersJudge.Command, _ person: SudoersJudge.Person
  ) -> (PAM.Outcome, Door.Holder?) {
    guard decision.isAllowed else {
      return (PAM.Outcome(opening: .never, because: [decision.reason], cause: nil), nil)
    }
    var proof = self.proof(decision, decision.service, person)
    // `sudo -i` has a service of its own where the package brings one.
    let login = decision.loginService ?? "sudo-i"
    if command == .any, decision.asksPassword, !isWithoutPAM, context.pam.hasService(login) {
      proof = proof.or(self.proof(decision, login, person))
    }
    proof = proof.after([decision.reason])
    if !decision.asksPassword, proof.opening?.answer == .notRequired {
      proof.cause = Cause(
        "sudoNoPassword", observed: decision.rule?.text ?? "", evidence: decision.reason.place.map { [$0] })
    }
    return (proof, decision.whose)
  }

  private func proof(
    _ decision: SudoersJudge.Decision, _ service: String, _ person: SudoersJudge.Person
  ) -> PAM.Outcome {
    var account = person.account
    let caller = account
    if decision.whose == .root { account = context.accounts["root"] }
    if decision.whose == .root, account == nil { return .never }
    guard !isWithoutPAM else {
      return decision.asksPassword
        ? ProofWithoutPAM.outcome(for: account, by: .anyRow, takesEmpty: true)
        : PAM.Outcome(opening: .always, because: [], cause: nil)
    }
    var call = PAM.Call(service)
    // The real uid stays the person's, so that pam_rootok does not take sudo for root.
    call.caller = caller?.name
    call.callerUID = caller?.uid ?? UInt32.max - 1
    call.skipsAuthentication = !decision.asksPassword
    return context.pam.outcome(of: call, for: account)
  }

  // MARK: Remarks

  private mutating func noteProblems() {
    guard let reading else { return }
    for problem in (reading.source.problems + reading.problems).prefix(20) {
      result.remarks.append(
        Remark(Cause(problem.code, observed: problem.observed, evidence: [problem.place]), check: .elevation))
    }
  }

  /// Rules for users who do not exist: whoever creates one of that name gives him root.
  private mutating func noteStrangers() {
    guard let reading, context.accounts.externalSources.isEmpty else { return }
    var seen = Set<String>()
    for rule in reading.sudoers.rules {
      for item in rule.users where !item.isNegated {
        guard case .user(let name) = item.name, context.accounts[name] == nil, seen.insert(name).inserted else {
          continue
        }
        result.remarks.append(
          Remark(
            Cause("sudoUnknownUser", observed: rule.text, evidence: [rule.place]), check: .elevation, subject: name,
            door: "sudo"))
      }
    }
  }
}
