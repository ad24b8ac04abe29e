import Posture

/// `su`: to root from somebody who is not.
enum SuDoors {
  static func look(_ context: AuthContext) -> ProbeResult {
    var result = ProbeResult()
    guard let path = Programs.path("su", context.system) else { return result }
    let shut = shutReason(path, context.system)
    for account in context.accounts.owners {
      result.doors.append(door(account.name, account.uid, path, shut, context))
    }
    for source in context.accounts.externalSources {
      result.doors.append(door("external:\(source)", nil, path, shut, context))
    }
    return result
  }

  private static func door(
    _ subject: String, _ uid: UInt32?, _ path: String, _ shut: Reason?, _ context: AuthContext
  ) -> Door {
    if let shut { return Door("su", .elevation, subject, .never, because: [shut]) }
    guard let root = context.accounts["root"] ?? context.accounts.all.first(where: \.isRoot) else {
      return Door("su", .elevation, subject, .never, because: [Reason("su.noRoot", file: "/etc/passwd")])
    }
    var outcome = proof(of: root, for: subject, uid, path, context)
    if outcome.opening?.answer == .notRequired, outcome.cause == nil {
      outcome.cause = Cause("suNoPassword", observed: "su opens with nothing", evidence: nil)
    }
    var door = Door("su", .elevation, subject, outcome.opening, because: outcome.because, cause: outcome.cause)
    if door.answer == .required || door.answer == .notRequired { door.whose = .root }
    return door
  }

  private static func proof(
    of root: Account, for subject: String, _ uid: UInt32?, _ path: String, _ context: AuthContext
  ) -> PAM.Outcome {
    if Programs.isBusyBox(path, context.system) {
      return ProofWithoutPAM.outcome(for: root, by: .crossedOrStarred, takesEmpty: true)
    }
    if ProofWithoutPAM.applies(to: context.system) { return ProofWithoutPAM.outcome(for: root, takesEmpty: true) }
    var call = PAM.Call("su")
    call.caller = subject
    // Somebody from a directory has some uid that is not 0.
    call.callerUID = uid ?? UInt32.max - 1
    let plain = context.pam.outcome(of: call, for: root)
    guard context.pam.hasService("su-l") else { return plain }
    call.service = "su-l"
    return plain.or(context.pam.outcome(of: call, for: root))
  }

  /// A tree may have lost its set-user-ID bits; a running system shows whether su can work at all.
  private static func shutReason(_ path: String, _ system: System) -> Reason? {
    guard system.isLive, let status = try? system.status(path) else { return nil }
    return status.owner == 0 && status.mode & 0o4000 != 0 ? nil : Reason("su.notSetuid", file: path)
  }
}
