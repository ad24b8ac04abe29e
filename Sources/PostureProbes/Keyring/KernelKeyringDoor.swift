import Posture

/// What the kernel's key retention service offers: memory of this running machine, with no passcode before it.
enum KernelKeyringDoor {
  static func look(_ context: KeyringContext) -> ProbeResult {
    var result = ProbeResult()
    guard context.system.isLive else { return result }
    let outcome = KernelKeyring.roundTrip()
    if outcome == .missing { return result }
    result.doors = [door(outcome)]
    return result
  }

  static func door(_ outcome: KernelKeyring.Outcome) -> Door {
    var door = Door(
      "kernel-keyring", .secret, "*", outcome == .works ? .always : nil,
      because: [Reason(outcome == .works ? "kernelKeyring.roundTrip" : "kernelKeyring.\(outcome.reason ?? "failed")")])
    door.counts = false
    door.cause = Cause("storeWithoutPasscode", observed: "the kernel keyring holds secrets until logout or restart")
    door.proof = proof(outcome)
    door.note = "memory only: nothing is kept when the machine stops"
    return door
  }

  private static func proof(_ outcome: KernelKeyring.Outcome) -> Door.Proof {
    switch outcome {
    case .works: Door.Proof(.roundTrip, .ok)
    case .quota, .denied: Door.Proof(.roundTrip, .refused, reason: outcome.reason)
    case .missing, .mismatch, .failed: Door.Proof(.roundTrip, .failed, reason: outcome.reason)
    }
  }
}
