import Posture

/// `pam@<service>` for each service that the caller names.
enum ServiceDoors {
  static func look(_ context: AuthContext, services: [String]) -> ProbeResult {
    var result = ProbeResult()
    for service in services {
      for account in context.accounts.people {
        let outcome = context.pam.outcome(of: PAM.Call(service), for: account)
        var door = Door(
          "pam@\(service)", .entry, account.name, outcome.opening, because: outcome.because, cause: outcome.cause)
        door.counts = false
        result.doors.append(door)
      }
    }
    return result
  }
}
