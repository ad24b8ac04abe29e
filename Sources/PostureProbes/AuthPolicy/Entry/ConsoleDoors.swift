import Posture

/// Text consoles: `login@console`, `login@<tty>`.
enum ConsoleDoors {
  static func look(_ context: AuthContext) -> ProbeResult {
    let kernel = context.system.shared { BootWords(context.system) }
    if let shell = shellInsteadOfInit(kernel, context) { return doors(context, [shell]) }
    switch context.startup.kind {
    case .systemd: return doors(context, SystemdConsoles(context, kernel).lines)
    case .sysvinit: return inittab(context, isBusyBox: false)
    case .busybox, .procd: return inittab(context, isBusyBox: true)
    case .runit, .openrc: return doors(context, ServiceConsoles(system: context.system).lines)
    case .other:
      let line = ScriptAsInit.line(context.system)
      return line.map { doors(context, [$0]) } ?? notModelled("an init that is not known")
    case .none: return ProbeResult()
    }
  }

  /// `init=/bin/sh`, `rdinit=/bin/sh` or `rd.break`, as it is written where the machine boots from: every start ends in a
  /// shell of root's.
  private static func shellInsteadOfInit(_ kernel: BootWords, _ context: AuthContext) -> ConsoleLine? {
    let reader = TerminalReader(system: context.system)
    let program = ["init", "rdinit"].lazy.compactMap { name in kernel.value(name).map { "\(name)=\($0)" } }
      .first { reader.read([String($0.drop { $0 != "=" }.dropFirst())]) == .rootShell }
    guard let word = program ?? kernel.value("rd.break").map({ _ in "rd.break" }), let place = kernel.place else {
      return nil
    }
    return ConsoleLine(terminal: "console", reading: .rootShell, observed: word, place: place)
  }

  private static func inittab(_ context: AuthContext, isBusyBox: Bool) -> ProbeResult {
    let inittab = InittabConsoles(context.system, isBusyBox: isBusyBox)
    let services = ServiceConsoles(system: context.system).lines
    do throws(System.Unreadable) {
      guard let entries = try inittab.entries else {
        let shells = context.startup.kind == .busybox ? InittabConsoles.withoutInittab : []
        return doors(context, shells + services)
      }
      return doors(context, inittab.lines(entries) + services)
    } catch {
      var result = ProbeResult()
      let cause = Cause(
        "unreadable", observed: "\(InittabConsoles.path) \(error.words)", evidence: [Place(InittabConsoles.path)])
      result.gaps = [Gap(cause, checks: [.ownerAuthentication, .passcode])]
      return result
    }
  }

  private static func notModelled(_ what: String) -> ProbeResult {
    var result = ProbeResult()
    result.gaps = [Gap(Cause("notModelled", observed: what), checks: [.ownerAuthentication, .passcode])]
    return result
  }

  /// The doors that these lines are, and remarks on what is set up and not started.
  static func doors(_ context: AuthContext, _ lines: [ConsoleLine]) -> ProbeResult {
    var result = ProbeResult()
    var rows = DoorRows()
    let people = Person.all(context.accounts)
    let lines = lines + ScriptConsoles(context).lines
    let started = distinct(lines.filter(\.isStarted))
    let stock = started.filter(\.isStock)
    for door in stockDoors(context, stock, people) { rows.add(door) }
    for line in started where !line.isStock {
      let console = ConsoleRows(context: context, line: line)
      for door in console.doors(people) { rows.add(door) }
      result.remarks += console.remarks
    }
    result.remarks += lines.filter { !$0.isStarted && !$0.isStock && !isRepeated($0, started) }.map(dormant)
    result.doors = rows.doors
    return result
  }

  private static func stockDoors(_ context: AuthContext, _ lines: [ConsoleLine], _ people: [Person]) -> [Door] {
    guard !lines.isEmpty else { return [] }
    let terminals = lines.flatMap(\.representatives)
    let programs = Set(lines.compactMap(\.program)).sorted().map { LoginProgram($0, context) }
    return context.rows("login@console", .entry, people: people) { person in
      let outcomes = programs.map { $0.outcome(for: person.account, terminals: terminals) }
      return PAM.Outcome.anyOf(outcomes)
    }
  }

  /// An instance that does what its template does is no terminal of its own.
  private static func distinct(_ lines: [ConsoleLine]) -> [ConsoleLine] {
    lines.filter { $0.terminal.ends(with: "*") || $0.isStock || !isRepeated($0, lines) }
  }

  private static func isRepeated(_ line: ConsoleLine, _ lines: [ConsoleLine]) -> Bool {
    let template = line.terminal.hasPrefix("ttyS") ? "ttyS*" : "tty*"
    return lines.contains { $0.terminal == template && $0.reading == line.reading && $0.place == line.place }
  }

  private static func dormant(_ line: ConsoleLine) -> Remark {
    Remark(
      Cause("dormantDoor", observed: "\(line.observed) on \(line.terminal), not started", evidence: [line.place]),
      check: .ownerAuthentication, door: "login@\(line.terminal)")
  }
}

extension ConsoleLine {
  /// The ordinary text login: whoever types a name is asked for its proof.
  var isStock: Bool {
    guard case .login(let call) = reading else { return false }
    return call.user == .anybody && !call.skipsAuthentication
  }

  var program: String? {
    guard case .login(let call) = reading else { return nil }
    return call.program
  }

  /// Terminals that stand for a template's: as many as logind serves by default.
  var representatives: [String] {
    switch terminal {
    case "tty*": (1...6).map { "tty\($0)" }
    case "ttyS*": ["ttyS0"]
    default: [terminal]
    }
  }
}

/// The rows of one terminal that is not the stock one.
struct ConsoleRows {
  let context: AuthContext
  let line: ConsoleLine

  private var name: String { "login@\(line.terminal)" }

  func doors(_ people: [Person]) -> [Door] {
    if let user = named, context.accounts[user] == nil, context.accounts.externalSources.isEmpty { return [] }
    return context.rows(name, .entry, people: people, outcome)
  }

  /// A user that nobody is.
  var remarks: [Remark] {
    guard let user = named, context.accounts[user] == nil, context.accounts.externalSources.isEmpty else { return [] }
    return [
      Remark(
        Cause("autologinUnknownUser", observed: "\(line.observed): no user \(user)", evidence: [line.place]),
        check: .ownerAuthentication, subject: user, door: name)
    ]
  }

  /// The one user who gets in here.
  private var named: String? {
    switch line.reading {
    case .shell(let user), .session(let user): return user == "root" ? nil : user
    case .login(let call):
      guard case .only(let user) = call.user else { return nil }
      return user
    default: return nil
    }
  }

  private func outcome(_ person: Person) -> PAM.Outcome {
    switch line.reading {
    case .login(let call): return login(call, person)
    case .shell(let user): return owns(person, user) ? shell(person) : .closed(Reason("console.shell", line.place))
    case .session(let user):
      return owns(person, user) ? notModelled("console.session") : .closed(Reason("console.session", line.place))
    case .sulogin(let isForced):
      guard let account = person.account, account.isRoot else { return .closed(Reason("sulogin", line.place)) }
      return Sulogin.outcome(for: account, isForced: isForced, place: line.place)
    case .nothing: return .closed(Reason("console.nothing", line.place))
    case .unknown, .undecided: return notModelled("console.notModelled")
    }
  }

  private func notModelled(_ reason: String) -> PAM.Outcome {
    .unknown(Reason(reason, line.place), Cause("notModelled", observed: line.observed, evidence: [line.place]))
  }

  private func shell(_ person: Person) -> PAM.Outcome {
    guard let service = line.service else { return opened("console.shell", "consoleShell") }
    var call = PAM.Call(service)
    call.skipsAuthentication = true
    var outcome = context.pam.outcome(of: call, for: person.account)
    outcome.because.insert(Reason("console.shell", line.place), at: 0)
    if outcome.opening?.answer == .notRequired { outcome.cause = cause("consoleShell") }
    return outcome
  }

  private func login(_ call: LoginCall, _ person: Person) -> PAM.Outcome {
    let program = LoginProgram(call.program, context)
    let asked = { program.outcome(for: person.account, terminals: line.representatives) }
    guard call.skipsAuthentication else { return asked() }
    if case .only(let user) = call.user, !isMeant(person, user) {
      return .closed(Reason("agetty.autologin", line.place))
    }
    if let account = person.account, context.isHomed(account) {
      var outcome = asked()
      outcome.because.append(Reason("homed.activation", file: "/var/lib/systemd/home/\(account.name).identity"))
      return outcome
    }
    var outcome = program.outcome(
      for: person.account, skipsAuthentication: true, terminals: line.representatives)
    let isNamed = named != nil
    outcome.because.insert(Reason(isNamed ? "agetty.autologin" : "login.skipsAuthentication", line.place), at: 0)
    if let credential = line.credential { outcome.because.append(Reason("credential", credential)) }
    if outcome.opening?.answer == .notRequired {
      outcome.cause = cause(isNamed ? "autologin" : "loginWithoutAuthentication")
    }
    return outcome
  }

  /// A name that is not found here may be one of the people of another source.
  private func isMeant(_ person: Person, _ user: String) -> Bool {
    person.account.map { $0.name == user } ?? (context.accounts[user] == nil)
  }

  /// root by any name is root.
  private func owns(_ person: Person, _ user: String) -> Bool {
    user == "root" ? person.account?.isRoot == true : isMeant(person, user)
  }

  private func opened(_ reason: String, _ code: String) -> PAM.Outcome {
    PAM.Outcome(opening: .always, because: [Reason(reason, line.place)], cause: cause(code))
  }

  private func cause(_ code: String) -> Cause {
    // One credential is one cause, whatever number of terminals take it.
    Cause(code, observed: line.observed, evidence: [line.credential ?? line.place])
  }
}

/// sulogin(8): root's password, an empty one by Enter, a locked one not at all unless forced.
enum Sulogin {
  static func outcome(for root: Account, isForced: Bool, place: Place) -> PAM.Outcome {
    if isForced, root.password == .locked || root.password == .empty {
      return PAM.Outcome(
        opening: .always, because: [Reason("account.password", root.place), Reason("sulogin.force", place)],
        cause: Cause(
          "rescueWithoutPassword", observed: "sulogin --force, root \(root.password.rawValue)", evidence: [place]))
    }
    return ProofWithoutPAM.outcome(for: root, takesEmpty: true).after([Reason("sulogin", place)])
  }
}
