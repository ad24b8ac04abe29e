import Posture

/// What polkit asks for an action: its rules first, then the local authority of old systems, then the action's default;
/// nothing where another action that implies it is allowed.
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
    var result = ownAnswer(id, account, standing, vendorOnly)
    for other in actions.implying[id] ?? [] where result.demand != .yes {
      let (demand, place) = ownAnswer(other, account, standing, vendorOnly)
      if demand == .yes || demand == nil { result = (demand, place ?? actions.actions[other]?.place) }
    }
    return result
  }

  private func ownAnswer(
    _ id: String, _ account: Account?, _ standing: PolkitActions.Standing, _ vendorOnly: Bool
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
    let (values, place) = rules.results(question, vendorOnly: vendorOnly) {
      authorityAnswer(question.action, account, standing, vendorOnly)
    }
    let answers = values.map { value -> Answer in
      switch value {
      // polkitd refuses where a rule returns what is no answer.
      case .text(let text): (PolkitActions.Demand(text) ?? .no, place)
      case .number, .truth, .list, .expression: (.no, place)
      case .nothing: undecided(question.action, account, standing, vendorOnly)
      case .otherText, .unknown, .failure: (nil, place)
      }
    }
    guard let first = answers.first, answers.allSatisfy({ $0.demand == first.demand }) else { return (nil, place) }
    return first
  }

  private func undecided(
    _ id: String, _ account: Account?, _ standing: PolkitActions.Standing, _ vendorOnly: Bool
  ) -> Answer {
    if authority.isAlone, let said = authorityAnswer(id, account, standing, vendorOnly) { return said }
    return (actions.actions[id]?.defaults[standing] ?? .no, nil)
  }

  private func authorityAnswer(
    _ id: String, _ account: Account?, _ standing: PolkitActions.Standing, _ vendorOnly: Bool
  ) -> PolkitAuthority.Answer? {
    authority.demand(id, standing, vendorOnly: vendorOnly) { administrators.isMeant($0, account) }
  }
}
