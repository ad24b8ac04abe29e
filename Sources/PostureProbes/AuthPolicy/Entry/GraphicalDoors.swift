import Posture

/// Display managers: `graphical@<manager>`.
enum GraphicalDoors {
  static func look(_ context: AuthContext) -> ProbeResult {
    var result = ProbeResult()
    let search = DisplayManagerSearch(context)
    if let place = search.unnamed {
      let cause = Cause("notModelled", observed: "\(place.file) starts an unknown display manager", evidence: [place])
      result.gaps.append(Gap(cause, checks: [.ownerAuthentication]))
    }
    for found in search.found {
      let rows = GraphicalRows(context: context, found: found)
      if found.isStarted {
        result.doors += rows.doors
        result.subjects += rows.guests
        result.remarks += rows.unknownUsers
      } else if let remark = rows.dormant {
        result.remarks.append(remark)
      }
    }
    return result
  }
}

/// The rows of one display manager.
struct GraphicalRows {
  private let context: AuthContext
  private let found: DisplayManagerSearch.Found
  private let setup: DisplayManagerSetup
  private let name: String

  init(context: AuthContext, found: DisplayManagerSearch.Found) {
    self.context = context
    self.found = found
    setup = found.manager.setup(context)
    name = "graphical@\(found.manager.rawValue)"
  }

  var doors: [Door] {
    if var cause = setup.fault {
      cause.evidence = cause.evidence ?? [found.place]
      return Person.all(context.accounts).filter { !$0.isService }.map { person in
        Door(
          name, .entry, person.name, nil, because: [Reason("displayManager.\(cause.code)", found.place)], cause: cause)
      }
    }
    return Person.all(context.accounts).compactMap(door) + [guest].compactMap { $0 }
  }

  private func door(_ person: Person) -> Door? {
    let asked = asked(person)
    let automatic = setup.automatic.filter { isMeant($0, person) }.map { ($0, outcome($0, person)) }
    let open = automatic.filter { $0.1.opening?.answer == .notRequired }
    // Of several automatic ways the one that comes back gives no credit to the disk's passcode.
    let chosen = open.first { !$0.0.oncePerBoot } ?? open.first ?? automatic.first { $0.1.opening == nil }
    if let (login, outcome) = chosen, asked.opening?.answer != .notRequired {
      var door = Door(name, .entry, person.name, outcome.opening, because: outcome.because, cause: outcome.cause)
      door.oncePerBoot = login.oncePerBoot
      door.note = login.note
      return door
    }
    if person.isService, asked.opening == .never { return nil }
    return Door(name, .entry, person.name, asked.opening, because: asked.because, cause: asked.cause)
  }

  /// What the greeter asks: any of the services will do.
  private func asked(_ person: Person) -> PAM.Outcome {
    if setup.services.isEmpty { return .closed(Reason("displayManager.asksNobody", found.place)) }
    let outcomes = setup.services.map { context.pam.outcome(of: PAM.Call($0), for: person.account) }
    return PAM.Outcome.anyOf(outcomes)
  }

  private func outcome(_ login: AutomaticLogin, _ person: Person) -> PAM.Outcome {
    if let account = person.account, context.isHomed(account) {
      return .closed(Reason("homed.activation", file: "/var/lib/systemd/home/\(account.name).identity"))
    }
    var outcome = login.starter.map { started(by: $0, person) } ?? asked(login, person)
    outcome.because.insert(Reason("\(found.manager.rawValue).\(login.code)", login.place), at: 0)
    if outcome.opening?.answer == .notRequired {
      outcome.cause = Cause(login.code, observed: login.observed, evidence: [login.place])
    }
    return outcome
  }

  private func asked(_ login: AutomaticLogin, _ person: Person) -> PAM.Outcome {
    admitted(by: login.service ?? login.unasked ?? setup.services[0], person, isAsked: login.service != nil)
  }

  private func admitted(by service: String, _ person: Person, isAsked: Bool = false) -> PAM.Outcome {
    var call = PAM.Call(service)
    call.skipsAuthentication = !isAsked
    return context.pam.outcome(of: call, for: person.account)
  }

  private func started(by starter: AutomaticLogin.Starter, _ person: Person) -> PAM.Outcome {
    switch starter {
    case .program(let path):
      return LoginProgram(path, context).outcome(for: person.account, skipsAuthentication: true, terminals: [])
    case .unit(nil): return PAM.Outcome(opening: .always, because: [], cause: nil)
    case .unit(let service?): return admitted(by: service, person)
    }
  }

  private func isMeant(_ login: AutomaticLogin, _ person: Person) -> Bool {
    person.account.map { $0.name == login.user } ?? (context.accounts[login.user] == nil)
  }

  private static let guestName = "guest"

  /// An account that is made for the session, and is nobody's.
  var guests: [Subject] {
    guard let place = setup.guest, setup.fault == nil, context.accounts[Self.guestName] == nil else { return [] }
    return [
      Subject(name: Self.guestName, uid: nil, kind: .service, account: .active, password: .none, place: place)
    ]
  }

  private var guest: Door? {
    setup.guest.map { place in
      var door = Door(
        name, .entry, Self.guestName, .always, because: [Reason("lightdm.guest", place)],
        cause: Cause("guestSession", observed: "guest session", evidence: [place]))
      door.note = "guest session"
      return door
    }
  }

  // MARK: Remarks

  var unknownUsers: [Remark] {
    guard context.accounts.externalSources.isEmpty else { return [] }
    return setup.automatic.filter { context.accounts[$0.user] == nil }.map { login in
      Remark(
        Cause("autologinUnknownUser", observed: "\(login.observed): no user \(login.user)", evidence: [login.place]),
        check: .ownerAuthentication, subject: login.user, door: name)
    }
  }

  /// Something worth knowing where it does not run: it is the chosen one, or it would log somebody in.
  var dormant: Remark? {
    let login = setup.automatic.first
    guard login != nil || found.place.file.contains("display-manager") else { return nil }
    return Remark(
      Cause(
        "dormantDoor", observed: login?.observed ?? "\(found.manager.rawValue) is not started",
        evidence: [login?.place ?? found.place]),
      check: .ownerAuthentication, subject: login?.user ?? "*", door: name)
  }
}
