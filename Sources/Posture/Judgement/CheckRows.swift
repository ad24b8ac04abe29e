/// Which doors each check looks at.
struct CheckRows {
  private let facts: ProbeResult
  private let byName: [String: Door]
  private let kinds: [String: Subject.Kind]

  init(_ facts: ProbeResult) {
    self.facts = facts
    byName = Dictionary(facts.doors.map { ($0.name, $0) }) { first, _ in first }
    kinds = Dictionary(facts.subjects.map { ($0.name, $0.kind) }) { first, _ in first }
  }

  /// Owners, and root where one of its entry or remote doors is not closed.
  var owners: [Subject] {
    facts.subjects.filter { subject in
      switch subject.kind {
      case .owner, .external: true
      case .service: false
      case .root:
        facts.doors.contains {
          $0.subject == subject.name && ($0.class == .entry || $0.class == .remote) && $0.counts
            && $0.answer != .closed
        }
      }
    }
  }

  func doors(of check: CheckName) -> [Door] { facts.doors.filter { counts($0) && self.check(of: $0) == check } }

  /// Rows that are shown, and that no check counts.
  var bystanders: [Door] { facts.doors.filter { !counts($0) } }

  func localDoors(of subject: String) -> [Door] {
    facts.doors.filter { $0.class == .entry && $0.counts && $0.subject == subject }
  }

  /// The door is open to people with a passcode too: a matter of the door, not of anybody's passcode.
  func asksNobody(_ door: Door) -> Bool {
    let withPasscode = Set(facts.subjects.filter { $0.password == .set }.map(\.name))
    let others = facts.doors.filter { $0.name == door.name && withPasscode.contains($0.subject) }
    return !others.isEmpty && others.allSatisfy { $0.opening?.sets.contains(.none) == true }
  }

  private func counts(_ door: Door) -> Bool {
    guard door.counts else { return false }
    switch door.class {
    case .elevation: return kinds[door.subject] != .service && kinds[door.subject] != .root
    case .secret:
      if kinds[door.subject] == .root, !owners.contains(where: { $0.name == door.subject }) { return false }
      return !door.name.hasPrefix("secrets@") || door.isDefault
    default: return true
    }
  }

  func check(of door: Door) -> CheckName {
    switch door.class {
    case .entry: .ownerAuthentication
    case .boot: .bootEntry
    case .remote: .remoteEntry
    case .unlock: .screenLock
    case .elevation: .elevation
    case .secret: door.name.hasPrefix("volume:") ? .disk : .keyring
    }
  }

  func generalCode(_ class: Door.Class) -> String {
    switch `class` {
    case .entry: "openEntry"
    case .boot: "openBoot"
    case .remote: "openRemote"
    case .unlock: "openUnlock"
    case .elevation: "openElevation"
    case .secret: "openSecret"
    }
  }

  /// The door's answer together with the one that stands before it.
  func effectiveAnswer(_ door: Door) -> Answer {
    guard let behind = door.behind, door.answer != .closed, door.answer != .required else { return door.answer }
    guard let front = byName[behind]?.opening else { return .unknown }
    guard let opening = door.opening else { return front.answer == .notRequired ? .unknown : front.answer }
    return opening.and(front).answer
  }

  /// Doors by which whoever enters as `subject` becomes root, or reads the secrets of somebody else, without proof; also
  /// those of which that cannot be told.
  func furtherDoors(from subject: String) -> [Door] {
    // Whoever passes a door of everybody's is no user yet.
    guard subject != "*" else { return [] }
    return facts.doors.filter { door in
      guard door.answer == .notRequired || door.answer == .unknown else { return false }
      switch door.class {
      // A single command that is not root leads nowhere.
      case .elevation: return door.subject == subject && (door.counts || !Self.isOneCommand(door))
      case .secret: return door.subject != subject && door.subject != "*"
      default: return false
      }
    }
  }

  private static func isOneCommand(_ door: Door) -> Bool { ["sudo:", "doas:"].contains(where: door.name.hasPrefix) }

  /// One of the closed doors, where nobody can get in at all; nil as well where there may be others.
  var noWayIn: Door? {
    let checks = facts.gaps.flatMap(\.checks)
    if facts.isRestricted || checks.contains(.ownerAuthentication) || checks.contains(.remoteEntry) { return nil }
    let ways = facts.doors.filter { ($0.class == .entry || $0.class == .remote) && $0.counts }
    return ways.allSatisfy { $0.answer == .closed } ? ways.first : nil
  }

  /// A file that asks for no hardware, whatever else opens it. A key that could not be read may be the TPM's.
  private static func isPortableByItself(_ store: Door) -> Bool {
    ["gnome-keyring", "kwallet", "oo7"].contains { store.name.hasPrefix("secrets@\($0):") }
      || (store.name.hasPrefix("ssh-key:") && store.proof?.result != .refused)
  }

  enum Binding { case bound, portable, notBound, unknown }

  /// Whether every way into the store, or into a volume it lies on, needs this very hardware.
  func binding(of store: Door) -> Binding {
    let openings = [store.opening, store.ground]
    if openings.contains(where: { $0?.isDeviceBound == true }) { return .bound }
    if store.ground == nil || (store.opening == nil && !Self.isPortableByItself(store)) { return .unknown }
    let holdsDevice = openings.contains { $0?.sets.contains { $0.contains(.device) } == true }
    return holdsDevice ? .portable : .notBound
  }
}
