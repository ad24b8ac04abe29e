import Posture

/// What polkit asks for an action: its rules first, then the local authority of old systems, then the action's default.
struct PolkitDemands: Sendable {
  /// What is asked (nil: cannot be told), and where that is said (nil: by the action itself).
  typealias Answer = (demand: PolkitActions.Demand?, place: Place?)

  private let actions: PolkitActions
  private let rules: PolkitRules
  private let authority: PolkitAuthority
  private let administrators: PolkitAdministrators
  /// Programs that the rules name and that are root by themselves.
  private let programs: [String]

  init(
    _ actions: PolkitActions, _ rules: PolkitRules, _ authority: PolkitAuthority,
    _ administrators: PolkitAdministrators
  ) {
    self.actions = actions
    self.rules = rules
    self.authority = authority
    self.administrators = administrators
    programs = Set(rules.rules.flatMap(\.literals)).sorted()
      .filter { $0.hasPrefix("/") && RootCommands.amountsToRoot($0) }
  }

  /// For one person in one standing; with `vendorOnly` as the packages alone would have it.
  func answer(
    _ id: String, _ account: Account?, _ standing: PolkitActions.Standing, vendorOnly: Bool = false
  ) -> Answer {
    var question = administrators.question(id, account, standing)
    var result = answer(question, account, standing, vendorOnly)
    guard id == "org.freedesktop.policykit.exec" else { return result }
    // A rule may mean some programs only: the easiest of those that are root counts.
    for program in programs {
      question.program = program
      let one = answer(question, account, standing, vendorOnly)
      if let easier = one.demand, easier.rank < result.demand?.rank ?? 4 { result = one }
    }
    return result
  }

  private func answer(
    _ question: PolkitEvaluator.Question, _ account: Account?, _ standing: PolkitActions.Standing, _ vendorOnly: Bool
  ) -> Answer {
    let (values, place) = rules.results(question, vendorOnly: vendorOnly)
    let answers = values.map { value -> Answer in
      switch value {
      case .text(let text) where PolkitActions.Demand(text) != nil: (PolkitActions.Demand(text), place)
      case .nothing, .text("polkit.Result.NOT_HANDLED"): undecided(question.action, account, standing, vendorOnly)
      default: (nil, place)
      }
    }
    guard let first = answers.first, answers.allSatisfy({ $0.demand == first.demand }) else { return (nil, place) }
    return first
  }

  private func undecided(
    _ id: String, _ account: Account?, _ standing: PolkitActions.Standing, _ vendorOnly: Bool
  ) -> Answer {
    authority.demand(id, standing, vendorOnly: vendorOnly) { administrators.isMeant($0, account) }
      ?? (actions.actions[id]?.defaults[standing] ?? .no, nil)
  }
}
