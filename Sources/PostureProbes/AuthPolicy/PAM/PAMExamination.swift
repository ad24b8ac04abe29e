import Posture
import PosturePlatform

extension PAM {
  /// One call by an application, for one account, thought through once for each set of factors.
  struct Examination {
    private let pam: PAM
    private let call: Call
    private let account: Account?

    init(_ pam: PAM, _ call: Call, _ account: Account?) {
      self.pam = pam
      self.call = call
      self.account = account
    }

    func outcome() -> Outcome {
      switch pam.stacks(of: call.service) {
      case .failure(let abort):
        return Outcome(opening: .never, because: [Reason("pam.configurationError", abort.place)], cause: nil)
      case .success(let stacks):
        let phases = phases(stacks)
        if let doubt = phases.doubt(stacks) {
          return Outcome(opening: nil, because: [Reason("pam.\(doubt.code)", doubt.evidence?.first)], cause: doubt)
        }
        return behindHome(outcome(phases))
      }
    }

    /// Without its secret an encrypted home of systemd-homed stays shut, and the session gets a shell that asks for it.
    private func behindHome(_ outcome: Outcome) -> Outcome {
      guard let account, account.isHomeEncrypted, call.withAccountPhase, let opening = outcome.opening else {
        return outcome
      }
      var outcome = outcome
      outcome.opening = opening.and(account.homed)
      outcome.because.append(Reason("homed.encrypted", account.place))
      if outcome.opening?.answer != .notRequired { outcome.cause = nil }
      return outcome
    }

    // MARK: The phases

    /// One stack with what each of its entries may answer.
    private struct Phase {
      var entries: [Entry]
      var answers: [ModuleAnswer]
      /// Taken from `other`.
      var isBorrowed: Bool

      var factors: FactorSet { answers.reduce(FactorSet.none) { $0.union($1.factors) } }

      /// `cameByUnix`: the goal counts only where pam_unix was the one that let the user in, or was not.
      func result(with factors: FactorSet, goal: Set<Code>, cameByUnix: Bool? = nil) -> Evaluator.Result {
        var evaluator = Evaluator(
          entries,
          goal: { code, handle in goal.contains(code) && (cameByUnix == nil || handle.cameByUnix == cameByUnix) },
          leave: { index, code, handle in answers[index].leave(code, &handle) },
          choices: { index, handle in answers[index].choices(with: factors, handle) })
        return evaluator.evaluate()
      }

      func differs(from other: Phase) -> Bool { zip(answers, other.answers).contains { $0.ways != $1.ways } }
    }

    /// An account phase, and after which authentication it comes; nil: after any.
    private struct Admission {
      var cameByUnix: Bool?
      var phase: Phase
    }

    private struct Phases {
      var auth: Phase?
      /// Two where it makes a difference whether pam_unix was the one that let the user in.
      var account: [Admission]

      var all: [Phase] { (auth.map { [$0] } ?? []) + account.map(\.phase) }

      func doubt(_ stacks: ServiceStacks) -> Cause? {
        stacks.own.doubt ?? (all.contains { $0.isBorrowed } ? stacks.other.doubt : nil)
      }
    }

    private func phases(_ stacks: ServiceStacks) -> Phases {
      Phases(
        auth: call.skipsAuthentication ? nil : phase(stacks, .auth),
        account: call.withAccountPhase ? admissions(stacks) : [])
    }

    private func admissions(_ stacks: ServiceStacks) -> [Admission] {
      let phase = phase(stacks, .account)
      let minds = phase.entries.contains { $0.arguments.contains { $0.hasPrefix("no_pass_expiry") } }
      guard minds, !call.skipsAuthentication else { return [Admission(phase: phase)] }
      let afterUnix = self.phase(stacks, .account, cameByUnix: true)
      guard afterUnix.differs(from: phase) else { return [Admission(phase: phase)] }
      return [Admission(cameByUnix: true, phase: afterUnix), Admission(cameByUnix: false, phase: phase)]
    }

    private func phase(_ stacks: ServiceStacks, _ group: Group, cameByUnix: Bool = false) -> Phase {
      let entries = stacks[group]
      return Phase(
        entries: entries, answers: entries.map { answer(of: $0, group, cameByUnix) },
        isBorrowed: stacks.isBorrowed(group))
    }

    private func answer(of entry: Entry, _ group: Group, _ cameByUnix: Bool) -> ModuleAnswer {
      guard entry.kind == .module else { return .fixed(.mustFail) }
      return ModuleModels.answer(
        ModuleQuestion(
          pam: pam, call: call, account: account, group: group, entry: entry, cameByUnix: cameByUnix))
    }

    // MARK: Every set of factors

    /// What one set of factors comes to.
    private struct Trial {
      var factors: FactorSet
      var value: Evaluator.Value
      var steps: [(entry: Entry, answer: ModuleAnswer)]
    }

    private func outcome(_ phases: Phases) -> Outcome {
      var factors = phases.all.reduce(FactorSet.none) { $0.union($1.factors) }
      if !phases.account.isEmpty { factors = factors.union(renewal.factors) }
      let sets = factors.subsets.sorted { ($0.factors.count, $0.rawValue) < ($1.factors.count, $1.rawValue) }
      var trials: [Trial] = []
      for set in sets where !trials.contains(where: { $0.value == .yes && $0.factors.isSubset(of: set) }) {
        trials.append(trial(set, phases))
      }
      var outcome = outcome(trials)
      if outcome.because.isEmpty {
        // A stack of bystanders ends as it began.
        outcome.because = [Reason("pam.nothingDecides", phases.all.first?.entries.last?.place)]
      }
      return outcome
    }

    private func outcome(_ trials: [Trial]) -> Outcome {
      let open = trials.filter { $0.value == .yes }
      let doubtful = trials.first { $0.value == .unknown }
      if let doubtful, open.isEmpty || !doubtful.factors.asksAPerson, open.first?.factors != FactorSet.none {
        return Outcome(opening: nil, because: reasons([doubtful]), cause: doubt(doubtful))
      }
      let shown = open.isEmpty ? trials.suffix(1) : open[...]
      let opening = Opening(open.map(\.factors))
      return Outcome(
        opening: opening, because: reasons(shown),
        cause: opening.answer == .notRequired ? openCause(open[0]) : nil)
    }

    /// The best that can be had, where there is more than one admission.
    private func trial(_ factors: FactorSet, _ phases: Phases) -> Trial {
      let trials = phases.account.map { trial(factors, phases.auth, $0) }
      return trials.max { $0.value < $1.value } ?? trial(factors, phases.auth, nil)
    }

    private func trial(_ factors: FactorSet, _ auth: Phase?, _ admission: Admission?) -> Trial {
      var trial = Trial(factors: factors, value: .yes, steps: [])
      if let auth {
        let proof = auth.result(with: factors, goal: [.success], cameByUnix: admission?.cameByUnix)
        add(auth, proof, to: &trial)
      }
      guard trial.value != .no, let account = admission?.phase else { return trial }
      let entered = account.result(with: factors, goal: [.success, .newTokenRequired])
      add(account, entered, to: &trial)
      guard trial.value != .no else { return trial }
      let unchanged = account.result(with: factors, goal: [.success])
      trial.value = min(trial.value, max(unchanged.value, renewal.value(with: factors)))
      return trial
    }

    private func add(_ phase: Phase, _ result: Evaluator.Result, to trial: inout Trial) {
      trial.value = min(trial.value, result.value)
      trial.steps += result.path.map { (phase.entries[$0], phase.answers[$0]) }
    }

    /// A password that has to be changed is asked for first (PAM_CHANGE_EXPIRED_AUTHTOK).
    private var renewal: Renewal { Renewal(account) }

    private struct Renewal {
      private let opening: Opening?

      init(_ account: Account?) {
        switch account?.password ?? .external {
        case .set, .external: opening = .passcode
        case .empty, .emptyHash: opening = .always
        case .locked, .unmatchable, .none: opening = .never
        case .unreadable: opening = nil
        }
      }

      var factors: FactorSet { opening?.sets.first ?? .none }

      func value(with factors: FactorSet) -> Evaluator.Value {
        guard let opening else { return .unknown }
        return opening.sets.contains { $0.isSubset(of: factors) } ? .yes : .no
      }
    }

    // MARK: Words

    private func reasons(_ trials: some Sequence<Trial>) -> [Reason] {
      var reasons: [Reason] = []
      for step in trials.flatMap(\.steps) {
        for reason in evidence(step.entry, step.answer) where !reasons.contains(reason) { reasons.append(reason) }
      }
      return reasons
    }

    private func evidence(_ entry: Entry, _ answer: ModuleAnswer) -> [Reason] {
      let code = entry.kind == .mustFail ? "syntaxError" : answer.name ?? ModuleModels.code(of: entry.module)
      return [Reason("pam.\(code)", entry.place)] + answer.because
    }

    private func doubt(_ trial: Trial) -> Cause {
      for step in trial.steps {
        guard var cause = step.answer.doubt else { continue }
        cause.evidence = cause.evidence ?? [step.entry.place]
        return cause
      }
      return Cause("pamUndecided", observed: "\(call.service): cannot be told", evidence: nil)
    }

    /// Causes that say of a module only that it did not stand in the way.
    private static let filters: Set = ["pamFilterGrants", "pamPermits"]

    /// Where a proof is accepted that nobody has to give, that is the cause, whatever lets through before it.
    private func openCause(_ trial: Trial) -> Cause? {
      let causes = trial.steps.compactMap { step in
        step.answer.grant.map { Cause($0.code, observed: $0.observed, evidence: $0.evidence ?? [step.entry.place]) }
      }
      return causes.first { !Self.filters.contains($0.code) } ?? causes.first
    }
  }
}
