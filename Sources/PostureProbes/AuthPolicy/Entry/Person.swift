import Posture

/// Who doors are listed for.
struct Person: Sendable {
  /// nil for the people of a source that is not on this disk.
  let account: Account?
  /// The subject's name: a user's, or `external:<source>`.
  let name: String
  /// A service is listed only where a door is not closed to it.
  var isService: Bool { account?.kind == .service }

  /// Everybody: owners and root, people of other sources, services.
  static func all(_ accounts: Accounts) -> [Person] {
    accounts.people.map { Person(account: $0, name: $0.name) }
      + accounts.externalSources.map { Person(account: nil, name: "external:\($0)") }
      + accounts.services.map { Person(account: $0, name: $0.name) }
  }

  /// Owners and people of other sources: those who have sessions of their own.
  static func owners(_ accounts: Accounts) -> [Person] {
    accounts.owners.map { Person(account: $0, name: $0.name) }
      + accounts.externalSources.map { Person(account: nil, name: "external:\($0)") }
  }
}

extension AuthContext {
  /// Rows of one door for everybody, as `outcome` answers for each.
  func rows(
    _ door: String, _ class: Door.Class, people: [Person], _ outcome: (Person) -> PAM.Outcome
  ) -> [Door] {
    people.compactMap { person in
      let outcome = outcome(person)
      if person.isService, outcome.opening == .never { return nil }
      return Door(door, `class`, person.name, outcome.opening, because: outcome.because, cause: outcome.cause)
    }
  }

  /// systemd-homed keeps this account's home: a session needs its key, whoever started it.
  func isHomed(_ account: Account) -> Bool {
    account.source == .homed
  }
}

extension PAM.Outcome {
  static func unknown(_ reason: Reason, _ cause: Cause) -> PAM.Outcome {
    PAM.Outcome(opening: nil, because: [reason], cause: cause)
  }

  /// Several ways in beside each other; nobody gets in by none.
  static func anyOf(_ outcomes: [PAM.Outcome]) -> PAM.Outcome {
    var all = outcomes.first ?? .never
    for outcome in outcomes.dropFirst() { all = all.or(outcome) }
    return all
  }

  static func closed(_ reason: Reason) -> PAM.Outcome {
    PAM.Outcome(opening: .never, because: [reason], cause: nil)
  }
}
