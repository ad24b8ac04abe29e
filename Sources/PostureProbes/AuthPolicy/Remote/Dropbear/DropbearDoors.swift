import Posture

/// `ssh@dropbear`.
struct DropbearDoors {
  private static let name = "ssh@dropbear"

  static func look(_ context: AuthContext) -> ProbeResult {
    var result = ProbeResult()
    guard let program = Programs.path("dropbear", context.system) else { return result }
    let doors = DropbearDoors(context: context, setup: DropbearSetup(context))
    guard !doors.setup.instances.isEmpty else {
      if isForInitrdAlone(context) { return result }
      result.remarks.append(
        Remark(
          Cause("dormantDoor", observed: "dropbear is installed but not started", evidence: [Place(program)]),
          check: .remoteEntry, door: name))
      return result
    }
    for account in context.accounts.people { result.doors.append(doors.door(account)) }
    for account in context.accounts.services where account.account == .active || account.account == .mustChange {
      let door = doors.door(account)
      if door.answer != .closed { result.doors.append(door) }
    }
    return result
  }

  /// Debian's dropbear-initramfs takes the program into the initial RAM disk and brings nothing that starts it later.
  private static func isForInitrdAlone(_ context: AuthContext) -> Bool {
    context.system.exists("/usr/share/initramfs-tools/hooks/dropbear")
      && !context.system.exists("/etc/init.d/dropbear") && context.startup.units.unit("dropbear.service") == nil
  }

  let context: AuthContext
  let setup: DropbearSetup

  private func door(_ account: Account) -> Door {
    let outcome = setup.instances.reduce(PAM.Outcome.never) { result, options in
      let one = ways(account, options).after([Reason("dropbear.options", options.place)])
        .ifRun(isCertain: options.isCertain, options.place)
      return result.opening == .never && one.opening == .never ? one : result.or(one)
    }
    return Door(
      Self.name, .remote, account.name, outcome.opening, because: outcome.because, cause: outcome.cause)
  }

  private func ways(_ account: Account, _ options: DropbearOptions) -> PAM.Outcome {
    if let refusal = refusal(account, options) { return .never.after([refusal]) }
    let password = password(account, options)
    let key = key(account, options)
    guard options.asksBoth else { return password.or(key) }
    guard let one = password.opening, let other = key.opening else { return password.opening == nil ? password : key }
    return PAM.Outcome(opening: one.and(other), because: password.because + key.because, cause: nil)
  }

  private func refusal(_ account: Account, _ options: DropbearOptions) -> Reason? {
    if account.isRoot, options.refusesRoot { return Reason("dropbear.noRoot", options.place) }
    if let group = options.group, !account.isMember(of: group) { return Reason("dropbear.group", options.place) }
    if let shells = context.system.text("/etc/shells") {
      let known = shells.lines().map(\.trimmed)
      let shell = account.shell.isEmpty ? "/bin/sh" : account.shell
      if !known.contains(shell) { return Reason("dropbear.shell", file: "/etc/shells") }
    }
    return nil
  }

  private func password(_ account: Account, _ options: DropbearOptions) -> PAM.Outcome {
    if options.refusesPasswords || (account.isRoot && options.refusesRootPassword) {
      return .never.after([Reason("dropbear.noPassword", options.place)])
    }
    if let service = setup.service {
      // It asks PAM without PAM_DISALLOW_NULL_AUTHTOK, and never looks at -B.
      var call = PAM.Call(service)
      call.isRemote = true
      call.terminal = "ssh"
      return context.pam.outcome(of: call, for: account)
    }
    let takesEmpty = options.takesEmpty || (setup.isOpenWrt && account.isRoot)
    let outcome = ProofWithoutPAM.outcome(for: account, takesEmpty: takesEmpty)
    // Before 2024.84 it took the row of shadow wherever there was one.
    if ProofWithoutPAM.outcome(for: account, by: .anyRow, takesEmpty: takesEmpty).opening != outcome.opening {
      return .unknown(
        Reason("dropbear.shadowUnknown", account.place),
        Cause(
          "unknownDoor", observed: "passwd and shadow differ for \(account.name), and dropbear's version decides",
          evidence: [account.place]))
    }
    return outcome
  }

  private func key(_ account: Account, _ options: DropbearOptions) -> PAM.Outcome {
    let keys = AuthorizedKeys(context.system, account, isStrict: true)
    let folder = options.keyFolder.map { $0.hasPrefix("~") ? account.home + $0.dropFirst() : $0 }
    var paths = [(folder ?? account.home + "/.ssh") + "/authorized_keys"]
    if setup.isOpenWrt, account.isRoot { paths.append("/etc/dropbear/authorized_keys") }
    let (content, isUnknown) = keys.content(paths)
    if let place = content.key {
      return PAM.Outcome(opening: Opening([.token]), because: [Reason("dropbear.authorizedKey", place)], cause: nil)
    }
    return isUnknown
      ? PAM.Outcome(opening: nil, because: [Reason("dropbear.keysUnreadable", options.place)], cause: nil)
      : .never.after([Reason("dropbear.noKey", options.place)])
  }
}
