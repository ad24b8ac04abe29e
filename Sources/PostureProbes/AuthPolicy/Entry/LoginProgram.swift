import Posture

/// What the program behind a text login asks: through PAM, or by its own rules where it is built without.
struct LoginProgram {
  private let context: AuthContext
  private let service: String
  private let usesPAM: Bool

  init(_ path: String, _ context: AuthContext) {
    self.context = context
    let name = Programs.base(path)
    service = ["su", "runuser", "autologin"].contains(name) ? name : "login"
    usesPAM = Self.usesPAM(path, context)
  }

  /// Where no PAM file is, or the login is BusyBox's, the program itself tells whether it is linked with libpam: there
  /// are systems without, and a login that finds none of its files lets nobody in.
  private static func usesPAM(_ path: String, _ context: AuthContext) -> Bool {
    let system = context.system
    let hasPAM = ["login", "other"].contains(where: context.pam.hasService)
    let real = system.exists(path) ? path : "/usr" + path
    if hasPAM, !Programs.isBusyBox(real, system) { return true }
    if !hasPAM, Self.hasBusyBox(system) { return false }
    guard let binary = try? system.read(real, cap: 4 << 20), binary.bytes.count > 4096 else {
      return hasPAM ? context.pam.hasService("login") : context.pam.modules.hasLibrary
    }
    return ByteSearch.contains(binary.bytes, "libpam.so")
  }

  private static func hasBusyBox(_ system: System) -> Bool {
    system.exists("/bin/busybox") || system.exists("/usr/bin/busybox")
  }

  /// What `account` is asked at the weakest of these terminals.
  func outcome(for account: Account?, skipsAuthentication: Bool = false, terminals: [String]) -> PAM.Outcome {
    if let account, !LoginShell.admits(account.shell) {
      return .closed(Reason("account.noShell", account.place))
    }
    guard usesPAM else { return plain(account, skipsAuthentication, terminals) }
    var call = PAM.Call(service)
    call.skipsAuthentication = skipsAuthentication
    let terminals = asksForTerminal ? terminals : Array(terminals.prefix(1))
    let outcomes = (terminals.isEmpty ? ["tty1"] : terminals).map { terminal in
      call.terminal = terminal
      return context.pam.outcome(of: call, for: account)
    }
    return PAM.Outcome.anyOf(outcomes)
  }

  /// Modules that look at the terminal; without one the first terminal speaks for all.
  private var asksForTerminal: Bool {
    let lines = context.pam.lines(of: service, .auth) + context.pam.lines(of: service, .account)
    return lines.contains {
      ["pam_securetty", "pam_access", "pam_time", "pam_succeed_if", "pam_listfile", "pam_group"]
        .contains($0.module.substituting(".so", with: ""))
    }
  }

  // MARK: Without PAM (BusyBox loginutils/login.c)

  private func plain(_ account: Account?, _ skips: Bool, _ terminals: [String]) -> PAM.Outcome {
    guard let account else {
      return .unknown(Reason("login.plain"), Cause("unreadable", observed: "people of a directory, login without PAM"))
    }
    let place = account.place
    if account.isUnshadowed, let field = account.hash, field.hasPrefix("!") || field.hasPrefix("*") {
      return .closed(Reason("login.locked", place))
    }
    if skips { return PAM.Outcome(opening: .always, because: [Reason("login.plain", place)], cause: nil) }
    if account.isRoot, !terminals.isEmpty, !terminals.contains(where: isSecure) {
      return .closed(Reason("login.securetty", file: "/etc/securetty"))
    }
    return ProofWithoutPAM.outcome(for: account, takesEmpty: true)
  }

  /// Whether root may use this terminal: a missing or empty list allows all.
  private func isSecure(_ terminal: String) -> Bool {
    let listed =
      context.system.text("/etc/securetty")?.lines().map(\.trimmed)
      .filter { !$0.isEmpty && !$0.hasPrefix("#") } ?? []
    return listed.isEmpty || listed.contains(terminal)
      || (terminal.ends(with: "*") && listed.contains { $0.hasPrefix(terminal.dropLast()) })
  }
}
