import Posture

/// Getting back into a locked session: `unlock@<locker>`.
enum UnlockDoors {
  static func look(_ context: AuthContext) -> ProbeResult {
    var result = ProbeResult()
    let owners = Person.owners(context.accounts)
    for locker in lockers(context) {
      result.doors += context.rows("unlock@\(locker.rawValue)", .unlock, people: owners) { person in
        locker.outcome(for: person.account, context)
      }
    }
    return result
  }

  /// Installed, and used by a desktop that is there; vlock locks text consoles and needs none.
  static func lockers(_ context: AuthContext) -> [Locker] {
    var used = Set(Desktop.installed(context.system).flatMap(\.lockers))
    if Desktop.rivalOfGDM(context) != nil { used.remove(.gnome) }
    return Locker.allCases.filter { (used.contains($0) || $0 == .vlock) && $0.isInstalled(context.system) }
  }
}
