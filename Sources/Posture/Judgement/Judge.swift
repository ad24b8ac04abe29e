/// Turns what the probes saw into checks, findings and a verdict. Pure: the same facts give the same evidence.
public struct Judge {
  private let policy: Policy
  private let facts: ProbeResult
  private let rows: CheckRows
  private var collector = FindingCollector()
  private var results: [CheckName: CheckResult] = [:]
  private var reasons: [CheckName: String] = [:]

  /// The evidence for `facts` under `policy`.
  public static func evidence(of facts: ProbeResult, under policy: Policy) -> Evidence {
    var judge = Judge(policy: policy, facts: facts)
    for check in CheckName.allCases { judge.evaluate(check) }
    judge.noteBystanders()
    judge.noteAbsences()
    return judge.evidence()
  }

  private init(policy: Policy, facts: ProbeResult) {
    self.policy = policy
    var facts = facts
    facts.doors = BehindVolume.resolve(DoorRows(facts.doors).doors)
    self.facts = facts
    self.rows = CheckRows(facts)
  }

  private mutating func evaluate(_ check: CheckName) {
    let result: CheckResult
    switch check {
    case .passcode: result = passcode()
    case .biometrics: result = biometrics()
    case .deviceBinding: result = deviceBinding()
    default: result = overRows(check)
    }
    results[check] = result
  }

  // MARK: Doors

  private mutating func overRows(_ check: CheckName) -> CheckResult {
    let doors = rows.doors(of: check)
    var isOpen = false
    var isUnknown = noteGaps(check)
    for door in doors {
      switch rows.effectiveAnswer(door) {
      case .notRequired:
        switch note(open: door, check) {
        case .fail: isOpen = true
        case .notRun: isUnknown = true
        case .success, .absent: continue
        }
      case .unknown:
        isUnknown = true
        collector.add(door.cause ?? .general("unknownDoor", door), check, door: door, level: .doubt)
      case .required, .closed: noteCredit(door, check)
      }
    }
    if isOpen { return .fail }
    if isUnknown { return .notRun }
    return doors.isEmpty ? .absent : .success
  }

  /// What an open door makes of its check; an intended one may stand.
  private mutating func note(open door: Door, _ check: CheckName) -> CheckResult {
    guard isIntended(door) else {
      collector.add(door.cause ?? .general(rows.generalCode(door.class), door), check, door: door, level: .failure)
      return .fail
    }
    let further = rows.furtherDoors(from: door.subject)
    if further.contains(where: { $0.answer == .notRequired }) {
      collector.add(.general("intendedDoorLeadsToRoot", door), check, door: door, level: .failure)
      return .fail
    }
    for one in further { collector.add(one.cause ?? .general("unknownDoor", one), check, door: one, level: .doubt) }
    return further.isEmpty ? .success : .notRun
  }

  private func isIntended(_ door: Door) -> Bool {
    policy.intended.contains { $0.door == door.name && $0.subject == door.subject }
  }

  private mutating func noteCredit(_ door: Door, _ check: CheckName) {
    guard door.answer == .notRequired, let behind = door.behind else { return }
    var cause = Cause.general("proofOncePerBoot", door)
    cause.observed = "\(door.name) is open; \(behind) asks once per boot"
    collector.add(cause, check, door: door, level: .info)
  }

  private mutating func noteGaps(_ check: CheckName) -> Bool {
    let gaps = facts.gaps.filter { $0.checks.contains(check) }
    for gap in gaps { collector.add(gap.cause, check, subject: "*", level: .doubt) }
    return !gaps.isEmpty
  }

  // MARK: The three that are no matter of one row

  private mutating func passcode() -> CheckResult {
    var result = CheckResult.absent
    if noteGaps(.passcode) { result = .notRun }
    for owner in rows.owners {
      let one = passcode(of: owner)
      if one == .fail { result = .fail }
      if one == .notRun, result != .fail { result = .notRun }
      if one == .success, result == .absent { result = .success }
    }
    return result
  }

  private mutating func passcode(of owner: Subject) -> CheckResult {
    let observed = "password \(owner.password.rawValue)"
    let evidence = owner.place.map { [$0] } ?? []
    switch owner.password {
    case .set, .external: return .success
    case .empty, .emptyHash:
      let code = owner.password == .empty ? "emptyPassword" : "emptyHash"
      collector.add(
        Cause(code, observed: observed, evidence: evidence), .passcode, subject: owner.name, level: .failure)
      return .fail
    case .unreadable:
      collector.add(
        Cause("unreadable", observed: observed, evidence: evidence), .passcode, subject: owner.name, level: .doubt)
      return .notRun
    case .locked, .unmatchable, .none:
      return withoutPasscode(owner, Cause("passcodeNotSet", observed: observed, evidence: evidence))
    }
  }

  /// Somebody who has none may get in by something else, and not by nothing.
  private mutating func withoutPasscode(_ owner: Subject, _ notSet: Cause) -> CheckResult {
    let doors = rows.localDoors(of: owner.name).filter { !isIntended($0) && !rows.asksNobody($0) }
    if let open = doors.first(where: {
      $0.opening?.sets.contains(.none) == true && rows.effectiveAnswer($0) == .notRequired
    }) {
      collector.add(open.cause ?? .general("openEntry", open), .passcode, door: open, level: .failure)
      return .fail
    }
    if let unknown = doors.first(where: { rows.effectiveAnswer($0) == .unknown }) {
      collector.add(unknown.cause ?? .general("unknownDoor", unknown), .passcode, door: unknown, level: .doubt)
      return .notRun
    }
    reasons[.passcode] = "passcodeNotSet"
    collector.add(notSet, .passcode, subject: owner.name, level: .info)
    return .success
  }

  private mutating func biometrics() -> CheckResult {
    if noteGaps(.biometrics) { return .notRun }
    guard let seen = facts.biometrics else {
      reasons[.biometrics] = "biometryNotAvailable"
      return .absent
    }
    reasons[.biometrics] = seen.result == .success ? nil : seen.cause.code
    if seen.result == .notRun { collector.add(seen.cause, .biometrics, subject: "*", level: .doubt) }
    return seen.result
  }

  private mutating func deviceBinding() -> CheckResult {
    if noteGaps(.deviceBinding) { return .notRun }
    let stores = rows.doors(of: .keyring)
    let bindings = stores.map(rows.binding)
    if bindings.isEmpty { return .absent }
    if let loose = [CheckRows.Binding.portable, .notBound].first(where: bindings.contains) {
      reasons[.deviceBinding] = loose == .portable ? "portable" : "notBound"
      return .absent
    }
    for (store, binding) in zip(stores, bindings) where binding == .unknown {
      collector.add(store.cause ?? .general("unknownDoor", store), .deviceBinding, door: store, level: .doubt)
    }
    return bindings.contains(.unknown) ? .notRun : .success
  }

  // MARK: What no check fails for

  private mutating func noteBystanders() {
    for door in rows.bystanders where door.answer == .notRequired {
      collector.add(
        door.cause ?? .general(rows.generalCode(door.class), door), rows.check(of: door), door: door, level: .info)
    }
    for remark in facts.remarks {
      collector.add(remark.cause, remark.check, subject: remark.subject, door: remark.door, level: .info)
    }
    if let shut = rows.noWayIn {
      collector.add(.general("noWayIn", shut), .ownerAuthentication, subject: "*", level: .lockedOut)
    }
  }

  /// What the policy requires and nothing was found of makes the verdict unknown: that has its finding too.
  private mutating func noteAbsences() {
    let absent = CheckName.allCases.filter {
      policy.demand(of: $0) == .require && results[$0] == .absent && reasons[$0] == nil && !collector.names($0)
    }
    let words = absent.map(\.rawValue).joined(separator: ", ")
    let cause = Cause("unknownDoor", observed: "nothing was found to judge \(words) by", evidence: [])
    for check in absent { collector.add(cause, check, subject: "*", level: .info) }
  }

  // MARK: The whole

  private func evidence() -> Evidence {
    let findings = collector.findings { check in
      policy.demand(of: check) != .inform && results[check] == .fail
    }
    let checks = CheckName.allCases.map { name in
      Check(
        name: name, result: results[name] ?? .notRun, required: policy.demand(of: name) != .inform,
        findings: findings.filter { $0.checks.contains(name) }.map(\.finding.id), reason: reasons[name])
    }
    return Evidence(
      policy: policy.name, verdict: verdict, checks: checks, subjects: facts.subjects, doors: facts.doors,
      passwordPolicy: facts.passwordPolicy ?? .unknown, findings: findings.map(\.finding))
  }

  private var verdict: Verdict {
    var verdict = Verdict.pass
    for (name, result) in results {
      switch (policy.demand(of: name), result) {
      case (.inform, _), (_, .success), (.requireIfPresent, .absent): continue
      case (_, .fail): return .fail
      case (_, .notRun), (.require, .absent): verdict = .unknown
      }
    }
    return verdict
  }
}

extension Cause {
  /// The catalogue's general code, for a door that brings no cause of its own.
  static func general(_ code: String, _ door: Door) -> Cause {
    Cause(code, observed: "\(door.name) \(door.answer.rawValue)")
  }
}
