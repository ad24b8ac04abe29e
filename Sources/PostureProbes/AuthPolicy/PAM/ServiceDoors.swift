import Posture

/// `pam@<service>` for each service that the caller names.
enum ServiceDoors {
  static func look(_ context: AuthContext, services: [String]) -> ProbeResult {
    var result = ProbeResult()
    for service in services {
      let call = PAM.Call(service)
      for account in context.accounts.people {
        result.doors.append(door(call, account.name, context.pam.outcome(of: call, for: account)))
      }
      for source in context.accounts.externalSources {
        result.doors.append(door(call, "external:\(source)", context.pam.outcome(of: call, for: nil)))
      }
    }
    return result
  }

  private static func door(_ call: PAM.Call, _ subject: String, _ outcome: PAM.Outcome) -> Door {
    var door = Door(
      "pam@\(call.service)", .entry, subject, outcome.opening, because: outcome.because, cause: outcome.cause)
    door.counts = false
    return door
  }
}
