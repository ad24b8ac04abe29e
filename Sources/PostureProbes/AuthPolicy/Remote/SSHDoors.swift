import Posture

/// `ssh@sshd`, `ssh@dropbear`.
enum SSHDoors {
  static func look(_ context: AuthContext) -> ProbeResult {
    var result = SSHDDoors.look(context)
    result.add(DropbearDoors.look(context))
    return result
  }
}

/// `ssh@sshd`.
struct SSHDDoors {
  private static let name = "ssh@sshd"

  static func look(_ context: AuthContext) -> ProbeResult {
    var result = ProbeResult()
    guard let server = context.sshd.first else { return result }
    let doors = SSHDDoors(context)
    guard server.isStarted else {
      result.remarks.append(
        Remark(
          Cause("dormantDoor", observed: "sshd is installed but not started", evidence: [Place(server.file)]),
          check: .remoteEntry, door: name))
      return result
    }
    for account in context.accounts.people { result.doors.append(doors.door(account.name, account)) }
    for source in context.accounts.externalSources { result.doors.append(doors.door("external:\(source)", nil)) }
    for account in context.accounts.services where account.account == .active || account.account == .mustChange {
      let door = doors.door(account.name, account)
      if door.answer != .closed { result.doors.append(door) }
    }
    return result
  }

  private let context: AuthContext
  /// Those that the configuration of each server tells apart.
  private let connections: [(server: SSHDServer, connection: SSHDConnection)]
  /// What there is that was not looked at.
  private let doubt: Cause?

  private init(_ context: AuthContext) {
    self.context = context
    let served = context.sshd.map { (server: $0, connections: $0.connections) }
    connections = served.flatMap { server, connections in connections.all.map { (server: server, connection: $0) } }
    doubt = served.lazy.compactMap { $0.server.unreadable ?? Self.cut($0.server, $0.connections) }.first
  }

  private static func cut(_ server: SSHDServer, _ connections: SSHDConnections) -> Cause? {
    guard connections.isCut else { return nil }
    return Cause(
      "notModelled", observed: "\(server.file) names more addresses than are tried", evidence: [Place(server.file)])
  }

  /// The weakest of all connections.
  private func door(_ subject: String, _ account: Account?) -> Door {
    var weakest = PAM.Outcome.never
    var ordinary: Opening?
    var note: String?
    for (index, (server, connection)) in connections.enumerated() {
      let person = SSHDPerson(name: subject, groups: account?.groups)
      let (settings, reason) = server.settings(for: person, on: connection)
      let ways = SSHDWays(context, settings, account, connection, file: server.file)
      let outcome = ways.outcome.after([reason]).ifRun(isCertain: server.isCertain, Place(server.file))
      if index == 0 {
        weakest = outcome
        ordinary = outcome.opening
      } else {
        let before = weakest.opening
        weakest = weakest.or(outcome)
        if weakest.opening != before { note = connection.pattern.map { "weakest from \($0)" } }
      }
    }
    if let doubt, weakest.opening?.answer != .notRequired {
      weakest.opening = nil
      weakest.cause = doubt
    }
    if weakest.opening?.answer == .notRequired, weakest.cause == nil {
      weakest.cause = Cause("openRemote", observed: "sshd lets \(subject) in without proof")
    }
    var door = Door(Self.name, .remote, subject, weakest.opening, because: weakest.because, cause: weakest.cause)
    door.note = weakest.opening == ordinary ? nil : note
    return door
  }
}

extension PAM.Outcome {
  /// The same where it is not certain that the server is started: nobody gets in by one that is not.
  func ifRun(isCertain: Bool, _ place: Place) -> PAM.Outcome {
    guard !isCertain, opening?.answer == .notRequired else { return self }
    let cause = Cause("notModelled", observed: "whether a script starts it is not known", evidence: [place])
    return PAM.Outcome(opening: nil, because: because, cause: cause)
  }
}
