import Posture

/// What a new password has to satisfy (`passwordPolicy`).
struct PasswordPolicyCheck {
  private let context: AuthContext

  static func look(_ context: AuthContext) -> ProbeResult {
    let check = PasswordPolicyCheck(context: context)
    var result = ProbeResult()
    result.passwordPolicy = PasswordPolicy(
      quality: check.quality(), history: check.history(), lockout: check.lockout())
    return result
  }

  // MARK: The stack

  /// The service that `passwd` runs; in a tree without it, the file that distributions include there.
  private var service: String {
    let names = ["passwd", "common-password", "system-password", "system-auth"]
    if context.pam.hasService("passwd") || !context.pam.lines(of: "other", .password).isEmpty { return "passwd" }
    return names.first(where: context.pam.hasService) ?? "passwd"
  }

  /// The line of the first of `modules` whose refusal makes the change fail.
  private func binding(_ modules: [String]) -> (line: PAM.Line, because: [Reason])? {
    let lines = context.pam.lines(of: service, .password)
    for line in lines where modules.contains(line.module) && line.isInstalled {
      if context.pam.refusal(by: line.place, of: service) { return (line, [reason(line)]) }
    }
    return nil
  }

  private func reason(_ line: PAM.Line) -> Reason {
    Reason("pam.\(PAM.ModuleModels.code(of: line.module))", line.place)
  }

  /// Why a rule is not enforced: a line that does nothing, or the stack that lacks one.
  private func absence(_ modules: [String]) -> [Reason] {
    let lines = context.pam.lines(of: service, .password)
    let stems = modules.map { $0.ends(with: ".so") ? String($0.dropLast(3)) : $0 }
    if let line = lines.first(where: { modules.contains($0.module) || stems.contains($0.module) }) {
      return [Reason(line.isInstalled ? "pam.notBinding" : "pam.missingModule", line.place)]
    }
    return [Reason("pam.noModule", lines.first.map { Place($0.place.file) })]
  }

  private func rule(_ isEnforced: Bool, _ values: [(String, JSON)], _ because: [Reason]) -> PasswordPolicy.Rule {
    PasswordPolicy.Rule(
      enforced: isEnforced, values: values.map { JSON.Member($0.0, isEnforced ? $0.1 : .null) }, because: because)
  }

  // MARK: Quality

  private func quality() -> PasswordPolicy.Rule {
    let modules = ["pam_pwquality.so", "pam_cracklib.so", "pam_passwdqc.so"]
    guard let (line, because) = binding(modules) else {
      return rule(false, QualitySettings(.pwquality).values, absence(modules))
    }
    var settings = QualitySettings(QualitySettings.Kind(module: line.module))
    settings.read(context.system, line)
    return rule(settings.isEnforcing, settings.values, because + settings.because)
  }

  // MARK: History

  private func history() -> PasswordPolicy.Rule {
    if let (line, because) = binding(["pam_pwhistory.so"]) {
      var remember = Setting(10)
      for entry in historyFile where entry.name == "remember" { remember.set(entry.value, entry.place) }
      line.arguments.filter { $0.hasPrefix("remember=") }.forEach { remember.set(String($0.dropFirst(9)), line.place) }
      return rule(remember.value > 0, [("remember", .integer(Int64(remember.value)))], because + remember.because)
    }
    return ownHistory() ?? rule(false, [("remember", .null)], absence(["pam_pwhistory.so"]))
  }

  /// Upstream reads a file since 1.5.3; Red Hat's older versions have taken that over, Debian's have not.
  private var historyFile: [ConfigurationLines.Entry] {
    if context.pam.dialect.hasAtInclude, let version = context.pam.version, version < PAM.Version(1, 5, 3) { return [] }
    let paths = ["/etc/security/pwhistory.conf", "/usr/etc/security/pwhistory.conf"]
    return paths.first(where: context.system.exists).map { Array(ConfigurationLines(context.system, $0)) } ?? []
  }

  /// pam_unix can keep old passwords itself.
  private func ownHistory() -> PasswordPolicy.Rule? {
    let lines = context.pam.lines(of: service, .password)
    for line in lines where line.module == "pam_unix.so" && line.isInstalled {
      guard let argument = line.arguments.last(where: { $0.hasPrefix("remember=") }),
        let count = Int(argument.dropFirst(9)), count > 0
      else { continue }
      return rule(true, [("remember", .integer(Int64(min(count, 400))))], [reason(line)])
    }
    return nil
  }

  // MARK: Lockout

  private func lockout() -> PasswordPolicy.Rule {
    let services = ["login", "gdm-password", "lightdm", "sddm", "sshd", "system-auth", "common-auth"]
    let lines = context.pam.lines(of: services.first(where: context.pam.hasService) ?? "login", .auth)
    let counting = lines.filter { $0.module == "pam_faillock.so" && $0.isInstalled }
    func line(_ mode: String) -> PAM.Line? { counting.first { $0.arguments.contains(mode) } }
    guard let asked = line("preauth"), let failed = line("authfail") else {
      if let tally = lines.first(where: { $0.module == "pam_tally2.so" && $0.isInstalled }) {
        let settings = PAM.FailLockSettings(tally2: tally.arguments)
        return rule(settings.deny > 0, values(settings), [reason(tally)])
      }
      return rule(false, values(nil), [Reason("pam.noModule", lines.first.map { Place($0.place.file) })])
    }
    let settings = PAM.FailLockSettings(context.system, failed.arguments, failed.place)
    let because = [reason(asked), reason(failed)] + (settings.place.map { [Reason("faillock.deny", $0)] } ?? [])
    return rule(settings.deny > 0, values(settings), because)
  }

  private func values(_ settings: PAM.FailLockSettings?) -> [(String, JSON)] {
    [
      ("deny", .count(settings?.deny)), ("unlockTime", .count(settings?.unlockTime)),
      ("failInterval", .count(settings?.interval)), ("evenDenyRoot", settings.map { .bool($0.deniesRoot) } ?? .null),
    ]
  }
}

extension PAM {
  /// Modules that ask for the new password and leave it to those that follow.
  private static let askingModules: Set<String> = ["unix", "pwquality", "cracklib", "pwhistory", "passwdqc"]

  /// Whether a change of password fails where the module of this line refuses, and everything else agrees.
  func refusal(by place: Place, of service: String) -> Bool {
    guard case .success(let stacks) = stacks(of: service), stacks.own.doubt == nil else { return false }
    let entries = stacks[.password]
    var isTaken = false
    var isStored = false
    var hasRefused = false
    let code = Evaluator.run(entries) { index in
      let entry = entries[index]
      let mayAsk = !entry.arguments.contains("use_authtok")
      if entry.place == place {
        // pam_passwdqc leaves a password to others that others have asked for.
        isTaken = mayAsk || entry.name != "passwdqc"
        hasRefused = true
        return Code(20)
      }
      guard modules.has(entry.module) else { return .moduleUnknown }
      // What was refused is taken away, and a module that may not ask for another fails.
      if isTaken, !mayAsk { return Code(20) }
      if mayAsk, Self.askingModules.contains(entry.name) { isTaken = false }
      // Who comes later refuses what is in shadow already.
      if entry.name == "unix", !hasRefused { isStored = true }
      switch entry.name {
      case "deny": return Code(20)
      // Sources that do not know a local user.
      case "systemd_home", "sss", "ldap", "krb5", "winbind": return .userUnknown
      case "succeed_if", "localuser", "usertype": return .success
      default: return .success
      }
    }
    return code != .success && !isStored
  }
}

/// A number, and where it was set last.
private struct Setting {
  private(set) var value: Int
  private(set) var because: [Reason] = []

  init(_ value: Int) { self.value = value }

  mutating func set(_ text: String, _ place: Place) {
    guard let number = Int(text) else { return }
    value = number
    because = [Reason("value", place)]
  }
}
