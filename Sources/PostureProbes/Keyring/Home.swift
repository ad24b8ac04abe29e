import Posture

/// A person's home, and how stores found in it are reported.
struct Home {
  let system: System
  let person: Account

  init(_ system: System, _ person: Account) {
    self.system = system
    self.person = person
  }

  func path(_ name: String) -> String { person.home.ends(with: "/") ? person.home + name : "\(person.home)/\(name)" }

  func exists(_ name: String) -> Bool { !person.home.isEmpty && system.exists(path(name)) }

  func list(_ folder: String) throws(System.Unreadable) -> [String] { try system.list(path(folder)) }

  func read(_ name: String, cap: Int) throws(System.Unreadable) -> System.File {
    try system.read(path(name), ownedBy: person.uid, cap: cap)
  }

  func door(_ name: String, _ opening: Opening?, _ reason: Reason) -> Door {
    var door = Door(name, .secret, person.name, opening, because: [reason])
    door.proof = Door.Proof(.header, .ok)
    return door
  }

  func unreadable(_ name: String, _ file: String, _ error: System.Unreadable) -> Door {
    var door = Door(name, .secret, person.name, nil, because: [Reason("unreadable", file: path(file))])
    door.cause = Cause("unreadable", observed: "\(path(file)) \(error.words)")
    door.proof = Door.Proof(.header, error == .denied ? .refused : .failed, reason: error.words)
    return door
  }

  /// A whole folder of stores that could not be looked into.
  func gap(_ folder: String, _ error: System.Unreadable) -> Gap {
    Gap(
      Cause("unreadable", observed: "\(path(folder)) \(error.words)", evidence: [Place(path(folder))]),
      checks: [.keyring, .deviceBinding])
  }
}
