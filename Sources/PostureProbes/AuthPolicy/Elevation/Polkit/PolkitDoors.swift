import Posture

/// `polkit`, `polkit:<action>`.
struct PolkitDoors {
  static func look(_ context: AuthContext) -> ProbeResult {
    let isInstalled = programs.contains { context.system.exists($0) } || Programs.has("pkexec", context.system)
    guard isInstalled || PolkitActions.areDeclared(on: context.system),
      !context.startup.units.isMasked("polkit.service")
    else { return ProbeResult() }
    var doors = PolkitDoors(context)
    doors.look(isInstalled: isInstalled)
    return doors.result
  }

  static let programs = [
    "/usr/lib/polkit-1/polkitd", "/usr/libexec/polkitd", "/usr/lib/policykit-1/polkitd",
    "/usr/libexec/polkit-1/polkitd",
    "/usr/lib/polkitd", "/usr/bin/polkitd",
  ]

  private let context: AuthContext
  private let actions: PolkitActions
  private let rules: PolkitRules
  private let authority: PolkitAuthority
  private let administrators: PolkitAdministrators
  private let demands: PolkitDemands
  private var result = ProbeResult()

  private init(_ context: AuthContext) {
    self.context = context
    actions = PolkitActions(context.system)
    rules = PolkitRules(context.system)
    authority = PolkitAuthority(context.system, rules)
    administrators = PolkitAdministrators(context, rules, authority)
    demands = PolkitDemands(actions, rules, authority, administrators)
  }

  private mutating func look(isInstalled: Bool) {
    for account in context.accounts.owners { addRows(account.name, account, isInstalled) }
    for source in context.accounts.externalSources { addRows("external:\(source)", nil, isInstalled) }
  }

  private mutating func addRows(_ subject: String, _ account: Account?, _ isInstalled: Bool) {
    if isInstalled { result.doors.append(commonDoor(subject, account)) }
    for id in listed + eased(account) { result.doors.append(door(id, subject, account)) }
  }

  /// What `auth_admin` comes to, whatever the action.
  private func commonDoor(_ subject: String, _ account: Account?) -> Door {
    let (outcome, whose) = administrators.proof(of: account, for: "")
    var door = Door("polkit", .elevation, subject, outcome.opening, because: outcome.because, cause: outcome.cause)
    if let cause = rules.unreadable.first, door.opening?.answer != .notRequired {
      door.opening = nil
      door.cause = cause
    }
    if door.opening != nil, door.opening != .never { door.whose = whose }
    return door
  }

  // MARK: Which actions

  /// Those of the closed list that are here; pkexec needs its set-user-ID bit, which only a running system shows.
  private var listed: [String] {
    PolkitRootActions.reasons.keys.filter { actions.actions[$0] != nil }.sorted()
  }

  private static let easedLimit = 32

  /// Further actions that a rule outside the vendor directories makes easier than what the packages ask.
  private func eased(_ account: Account?) -> [String] {
    let own = rules.rules.filter { !$0.isVendor && !$0.isAboutAdministrators && $0.mayEase }
    let hasEntries = authority.entries.contains { !$0.isVendor }
    guard !own.isEmpty || hasEntries else { return [] }
    let questions = PolkitActions.Standing.allCases.map { administrators.question("", account, $0) }
    let candidates = actions.actions.keys.sorted().lazy.filter { id in
      PolkitRootActions.reasons[id] == nil && (hasEntries || own.contains { $0.decides(id, questions) })
    }
    return Array(candidates.filter { isEased($0, account) }.prefix(Self.easedLimit))
  }

  private func isEased(_ id: String, _ account: Account?) -> Bool {
    PolkitActions.Standing.allCases.contains { standing in
      guard let before = demands.answer(id, account, standing, vendorOnly: true).demand else { return false }
      return demands.answer(id, account, standing).demand.map { $0.rank < before.rank } ?? true
    }
  }

  // MARK: One action

  private func door(_ id: String, _ subject: String, _ account: Account?) -> Door {
    var door = Door("polkit:\(id)", .elevation, subject, .never, because: [])
    var opening: Opening? = .never
    for standing in PolkitActions.Standing.allCases {
      let (demand, place) = demands.answer(id, account, standing)
      let reason = place.map { Reason("polkit.rule", $0) } ?? Reason("polkit.default", actions.actions[id]?.place)
      let (outcome, whose) = proof(demand, account, id, reason.place)
      for step in [reason] + outcome.because where !door.because.contains(step) { door.because.append(step) }
      if door.cause == nil || outcome.opening?.answer == .notRequired { door.cause = outcome.cause ?? door.cause }
      if door.whose == nil { door.whose = whose }
      opening = Self.either(opening, outcome.opening)
    }
    if let cause = rules.unreadable.first, opening?.answer != .notRequired {
      opening = nil
      door.cause = cause
    }
    door.opening = opening
    door.note = PolkitRootActions.reasons[id]
    if opening == nil || opening == .never { door.whose = nil }
    return door
  }

  private static func either(_ one: Opening?, _ other: Opening?) -> Opening? {
    if one?.answer == .notRequired { return one }
    if other?.answer == .notRequired { return other }
    guard let one, let other else { return nil }
    return one.or(other)
  }

  private func proof(
    _ demand: PolkitActions.Demand?, _ account: Account?, _ id: String, _ place: Place?
  ) -> (PAM.Outcome, Door.Holder?) {
    switch demand {
    case .yes:
      let cause = Cause("polkitNoPassword", observed: "\(id) is allowed without proof", evidence: place.map { [$0] })
      return (PAM.Outcome(opening: .always, because: [], cause: cause), nil)
    case .own: return (administrators.ownProof(of: account), nil)
    case .administrator: return administrators.proof(of: account, for: id)
    case .no: return (.never, nil)
    case nil:
      let cause = Cause(
        "polkitRuleUnknown", observed: "the rule may decide about \(id)", evidence: place.map { [$0] })
      return (PAM.Outcome(opening: nil, because: [Reason("polkit.ruleUnknown", place)], cause: cause), nil)
    }
  }
}
