import Posture

/// Walking up to an abandoned session: `idle@<desktop>`.
enum IdleDoors {
  static func look(_ context: AuthContext) -> ProbeResult {
    var rows = DoorRows()
    let owners = Person.owners(context.accounts)
    for desktop in Desktop.installed(context.system) {
      let judge = IdleJudge(context: context, desktop: desktop)
      for person in owners { rows.add(judge.door(person)) }
    }
    for session in Desktop.unknownSessions(context.system) {
      for person in owners {
        rows.add(
          Door(
            "idle@\(session)", .unlock, person.name, nil, because: [Reason("idle.notModelled")],
            cause: Cause("notModelled", observed: "session \(session)")))
      }
    }
    var result = ProbeResult()
    result.doors = rows.doors
    return result
  }
}

/// Whether an idle session is locked by itself.
enum IdleLock: Sendable {
  /// Something locks it, and this locker lets the user back in.
  case locked(by: Locker, [Reason], note: String?)
  case open([Reason], Cause)
  case unknown([Reason], Cause)

  var isLocked: Bool { if case .locked = self { true } else { false } }
  var isUnknown: Bool { if case .unknown = self { true } else { false } }
}

/// The door of one desktop for one user.
struct IdleJudge {
  let context: AuthContext
  let desktop: Desktop

  func door(_ person: Person) -> Door {
    let name = "idle@\(desktop.rawValue)"
    switch lock(person) {
    case .open(let because, let cause):
      return Door(name, .unlock, person.name, .always, because: because, cause: cause)
    case .unknown(let because, let cause):
      return Door(name, .unlock, person.name, nil, because: because, cause: cause)
    case .locked(let locker, let because, let note):
      let outcome = locker.outcome(for: person.account, context)
      var door = Door(
        name, .unlock, person.name, outcome.opening, because: because + outcome.because, cause: outcome.cause)
      door.note = note
      return door
    }
  }

  private func lock(_ person: Person) -> IdleLock {
    guard let account = person.account else {
      return .unknown(
        [Reason("idle.settings")], Cause("unreadable", observed: "homes of \(person.name) are not on this disk"))
    }
    if context.isHomed(account), !context.system.exists(account.home) {
      return .unknown([Reason("idle.settings")], Cause("unreadable", observed: "\(account.home) is locked"))
    }
    let home = UserFiles(account, context.system)
    do throws(UserFiles.Fault) {
      switch desktop {
      case .gnome, .budgie, .cinnamon, .mate: return try GnomeIdle(home, desktop).lock(context)
      case .kde: return try KDEIdle(home).lock
      case .sway, .i3: return try WindowManagerIdle(home, desktop, context).lock
      case .hyprland: return try HyprlandIdle(home, context).lock
      case .xfce, .lxde, .lxqt: return try XIdle(home, desktop, context).lock
      case .unity: return .unknown([Reason("idle.notModelled")], Cause("notModelled", observed: "desktop unity"))
      }
    } catch {
      return .unknown([Reason("idle.unreadable", error.place)], error.cause)
    }
  }
}

/// Files in a home, which its owner controls: only files of theirs are read.
struct UserFiles {
  /// A file that is there and cannot be read.
  struct Fault: Error {
    var place: Place
    var cause: Cause

    init(_ path: String, _ error: System.Unreadable) {
      place = Place(path)
      cause = Cause("unreadable", observed: "\(path) \(error.words)", evidence: [Place(path)])
    }
  }

  let account: Account
  let system: System

  init(_ account: Account, _ system: System) {
    self.account = account
    self.system = system
  }

  func path(_ name: String) -> String { account.home.ends(with: "/") ? account.home + name : "\(account.home)/\(name)" }

  /// The content of a file below the home; nil where it is missing.
  func bytes(_ name: String) throws(Fault) -> [UInt8]? {
    let path = path(name)
    do throws(System.Unreadable) {
      return try system.read(path, ownedBy: account.uid).bytes
    } catch {
      if error == .missing { return nil }
      throw Fault(path, error)
    }
  }

  func text(_ name: String) throws(Fault) -> String? {
    try bytes(name).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The first of several files that is there: below the home, or anywhere if absolute.
  func first(_ names: [String]) throws(Fault) -> (text: String, path: String)? {
    for name in names {
      if name.hasPrefix("/") {
        if let text = system.text(name) { return (text, name) }
      } else if let text = try text(name) {
        return (text, path(name))
      }
    }
    return nil
  }

  /// What a session's shell knows of itself.
  var variables: [String: String] {
    ["HOME": account.home, "USER": account.name, "XDG_CONFIG_HOME": path(".config")]
  }

  /// The path behind `~/` and `$HOME/`.
  func resolved(_ name: String) -> String {
    let home = ["~/", "$HOME/", "${HOME}/"].first { name.hasPrefix($0) }
    return home.map { path(String(name.dropFirst($0.count))) } ?? name
  }

  /// A file that a line of the user's names, below the home or anywhere.
  func named(_ name: String) throws(Fault) -> (text: String, path: String)? {
    let path = resolved(name)
    let top = self.path("")
    return try first([path.hasPrefix(top) ? String(path.dropFirst(top.count)) : path])
  }

  /// The line of the first match, for evidence.
  static func line(of word: String, in text: String) -> Int? {
    text.lines(keepsEmpty: true).firstIndex { $0.contains(word) }.map { $0 + 1 }
  }
}
