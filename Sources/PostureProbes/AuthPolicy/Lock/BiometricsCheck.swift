import Posture

/// Whether a finger or a face can open anything for an owner (the `biometrics` check).
struct BiometricsCheck {
  private let context: AuthContext
  /// What was found of the other questions: whose proof a door asks for.
  private let doors: [Door]

  static func look(_ context: AuthContext, _ doors: [Door] = []) -> ProbeResult {
    let check = BiometricsCheck(context: context, doors: doors)
    var result = ProbeResult()
    result.biometrics = check.answer()
    result.remarks = check.keyringRemarks() + check.lockoutRemarks()
    return result
  }

  /// Services that open a session, and those that ask within one.
  private static let sessions = [
    "login", "gdm-fingerprint", "gdm-password", "lightdm", "sddm", "greetd", "lxdm", "ly", "cosmic-greeter",
  ]
  private static let others = ["sudo", "sudo-i", "su", "su-l", "doas", "polkit-1"] + lockers
  private static let lockers = [
    "kde", "kde-fingerprint", "swaylock", "hyprlock", "i3lock", "xscreensaver", "gnome-screensaver",
    "budgie-screensaver", "cinnamon-screensaver", "mate-screensaver", "xfce4-screensaver", "vlock", "physlock",
  ]
  private static let modules: Set<String> = [
    "pam_fprintd.so", "pam_fprint.so", "pam_fprintd_grosshack.so", "pam_howdy.so",
  ]

  // MARK: Reach

  /// Services of `names` that load such a module.
  private func asking(_ names: [String]) -> [(service: String, line: PAM.Line)] {
    names.filter { context.pam.hasService($0) && isOffered($0) }.compactMap { service in
      context.pam.lines(of: service, .auth).first(where: Self.asks).map { (service, $0) }
    }
  }

  private static func asks(_ line: PAM.Line) -> Bool {
    line.isInstalled && (modules.contains(line.module) || isFace(line))
  }

  /// Howdy: a module of its own, or a script of pam_python.
  private static func isFace(_ line: PAM.Line) -> Bool {
    line.module == "pam_howdy.so"
      || (line.module == "pam_python.so" && line.arguments.contains { $0.contains("howdy") })
  }

  /// gdm's settings may leave it out, at the greeter and in everybody's session.
  private func isOffered(_ service: String) -> Bool {
    service != "gdm-fingerprint" || GDM.services(context).contains(service)
      || context.accounts.owners.contains { Locker.gnome.services(for: $0, context)?.contains(service) ?? false }
  }

  /// Doors whose program may ask for the proof of somebody else, or for none.
  private static let doorNames = [
    "sudo": "sudo", "sudo-i": "sudo", "su": "su", "su-l": "su", "doas": "doas", "polkit-1": "polkit",
  ]

  private func outcome(_ service: String, _ owner: Account) -> PAM.Outcome {
    let door = doors.first { $0.name == Self.doorNames[service] && $0.subject == owner.name }
    if let door, door.opening != nil {
      return PAM.Outcome(opening: door.opening, because: door.because, cause: door.cause)
    }
    var call = PAM.Call(service)
    call.callerUID = owner.uid
    // Lockers ask for a proof alone.
    call.withAccountPhase = !Self.lockers.contains(service)
    return context.pam.outcome(of: call, for: owner)
  }

  /// True where a set with a finger opens; nil where that cannot be told.
  private func opens(_ outcome: PAM.Outcome) -> Bool? {
    outcome.opening.map { $0.sets.contains { $0.contains(.biometric) } }
  }

  // MARK: The answer

  private func answer() -> Biometrics {
    let asking = asking(Self.sessions + Self.others)
    guard let first = asking.first, hasSoftware else {
      return Biometrics(result: .absent, cause: Cause("biometryNotAvailable", observed: "no service asks for a finger"))
    }
    var best: Biometrics?
    for owner in context.accounts.owners {
      let one = answer(owner, asking)
      if best == nil || Self.rank(one) > Self.rank(best!) { best = one }
    }
    return best
      ?? Biometrics(
        result: .absent,
        cause: Cause("biometryNotEnrolled", observed: "there is no owner", evidence: [first.line.place]))
  }

  private static func rank(_ answer: Biometrics) -> Int {
    switch (answer.result, answer.cause.code) {
    case (.success, _): 4
    case (.notRun, _): 3
    case (_, "biometryLockout"): 2
    case (_, "biometryNotEnrolled"): 1
    default: 0
    }
  }

  private var hasSoftware: Bool {
    Fingerprints.isInstalled(context.system)
      || ["/etc/howdy", "/usr/lib/security/howdy", "/lib/security/howdy"].contains(where: context.system.exists)
  }

  private func answer(_ owner: Account, _ asking: [(service: String, line: PAM.Line)]) -> Biometrics {
    var isUnknown: Cause?
    var isLocked: Place?
    for (service, line) in asking {
      let outcome = outcome(service, owner)
      switch opens(outcome) {
      case true?: return reader(owner, service, line)
      case nil: isUnknown = isUnknown ?? outcome.cause
      case false?: isLocked = isLocked ?? outcome.because.first { $0.code == "faillock.locked" }?.place
      }
    }
    if let isUnknown { return Biometrics(result: .notRun, cause: isUnknown) }
    if owner.password == .empty || owner.password == .emptyHash {
      return Biometrics(
        result: .absent,
        cause: Cause("passcodeNotSet", observed: "\(owner.name)'s password is empty", evidence: [owner.place]))
    }
    if let isLocked {
      return Biometrics(
        result: .absent, cause: Cause("biometryLockout", observed: "\(owner.name) is locked out", evidence: [isLocked]))
    }
    if Fingerprints(context.system).service.readers == .none, asking.allSatisfy({ !Self.isFace($0.line) }) {
      return Biometrics(
        result: .absent,
        cause: Cause(
          "biometryNotAvailable", observed: "no reader is plugged in", evidence: asking.first.map { [$0.line.place] }))
    }
    return Biometrics(
      result: .absent,
      cause: Cause(
        "biometryNotEnrolled", observed: "\(owner.name) has no print that a service would accept",
        evidence: asking.first.map { [$0.line.place] }))
  }

  /// Prints on disk do not show that a reader is plugged in: only a running service does.
  private func reader(_ owner: Account, _ service: String, _ line: PAM.Line) -> Biometrics {
    let words = "\(service) takes a finger for \(owner.name)"
    switch Fingerprints(context.system).service.readers {
    case .some where !Self.isFace(line):
      return Biometrics(
        result: .success, cause: Cause("biometryAvailable", observed: words, evidence: [line.place]))
    case .unknown(var cause):
      cause.evidence = [line.place]
      return Biometrics(result: .notRun, cause: cause)
    case .some, .none, .notAsked:
      return Biometrics(
        result: .notRun,
        cause: Cause("biometryReaderUnknown", observed: "\(words); no reader can be seen", evidence: [line.place]))
    }
  }

  // MARK: Remarks

  private func keyringRemarks() -> [Remark] {
    let asking = asking(Self.sessions)
    return context.accounts.owners.compactMap { owner in
      guard let keyring = keyring(of: owner) else { return nil }
      let opened = asking.first { opens(outcome($0.service, owner)) == true }
      guard let opened else { return nil }
      let cause = Cause(
        "biometryCannotUnlockKeyring", observed: "\(opened.service) takes a finger; \(keyring) needs the password",
        evidence: [opened.line.place])
      return Remark(cause, check: .biometrics, subject: owner.name)
    }
  }

  private func keyring(of owner: Account) -> String? {
    let share = "\(owner.home)/.local/share"
    return ["\(share)/keyrings/login.keyring", "\(share)/kwalletd/kdewallet.kwl"].first(where: context.system.exists)
  }

  private func lockoutRemarks() -> [Remark] {
    guard let line = context.pam.lines(of: "login", .auth).first(where: { $0.module == "pam_faillock.so" }) else {
      return []
    }
    let settings = PAM.FailLockSettings(context.system, line.arguments)
    return context.accounts.owners.compactMap { owner in
      guard let place = settings.lock(of: owner, context.system) else { return nil }
      let cause = Cause(
        "passcodeLockout", observed: "\(owner.name) is locked out after \(settings.deny) failures", evidence: [place])
      return Remark(cause, check: .passcode, subject: owner.name)
    }
  }
}
