public import Posture

/// What the Secret Service of one owner's session did with a random secret.
public struct SecretServiceResult: Hashable, Sendable {
  public enum Outcome: String, Sendable, CaseIterable {
    /// Stored, read back and deleted in the default collection.
    case works
    /// The default collection is locked; nothing was tried.
    case locked
    /// It is unlocked, by a provider that would ask its user before storing; nothing was tried.
    case unlocked
    /// There is no session bus.
    case noSession
    /// Nobody serves secrets on it. A provider that would have to be started counts as none.
    case noProvider
    case noDefault
    /// It would have asked its user; the question was dismissed.
    case refused
    /// What came back was not what had been stored.
    case mismatch
    case failed
    case timeout
  }

  public var outcome: Outcome
  /// `gnome-keyring` `kwallet` `keepassxc` …
  public var provider: String?
  /// The default collection.
  public var collection: String?

  public init(_ outcome: Outcome, provider: String? = nil, collection: String? = nil) {
    self.outcome = outcome
    self.provider = provider
    self.collection = collection
  }

  public var json: JSON {
    .build { object in
      object("outcome", .string(outcome.rawValue))
      object("provider", optional: provider)
      object("collection", optional: collection)
    }
  }

  /// nil for what is none.
  public init?(json: JSON) {
    guard let outcome = json["outcome"]?.string.flatMap(Outcome.init(rawValue:)) else { return nil }
    self.init(outcome, provider: json["provider"]?.string, collection: json["collection"]?.string)
  }
}

extension SecretServiceResult {
  /// Adds the session's word to what the files said: the proof, and which collection is the default.
  public func apply(to facts: inout ProbeResult, owner: String) {
    guard let provider, let collection else { return note(on: &facts, owner) }
    let name = "secrets@\(provider):\(collection)"
    for index in facts.doors.indices where facts.doors[index].isStore(of: owner, provider) {
      facts.doors[index].isDefault = facts.doors[index].name == name
    }
    if !facts.doors.contains(where: { $0.name == name && $0.subject == owner }) {
      facts.doors.append(unseenDoor(name, owner))
    }
    for index in facts.doors.indices where facts.doors[index].name == name && facts.doors[index].subject == owner {
      // A provider calls a collection without a password locked until somebody asks for it.
      if outcome == .locked, facts.doors[index].answer == .notRequired { continue }
      facts.doors[index].proof = proof
    }
  }

  /// Where there is no collection to speak of, the default ones say why nothing was proved.
  private func note(on facts: inout ProbeResult, _ owner: String) {
    for index in facts.doors.indices where facts.doors[index].isDefault && facts.doors[index].subject == owner {
      facts.doors[index].proof = proof
    }
  }

  private var proof: Door.Proof {
    switch outcome {
    case .works: Door.Proof(.roundTrip, .ok)
    case .locked, .unlocked, .noSession, .noProvider, .noDefault, .refused:
      Door.Proof(.roundTrip, .refused, reason: outcome.rawValue)
    case .mismatch, .failed: Door.Proof(.roundTrip, .failed, reason: outcome.rawValue)
    case .timeout: Door.Proof(.roundTrip, .timeout)
    }
  }

  /// A collection of which no file was found: locked it asks for a passcode, open it may or may not have one.
  private func unseenDoor(_ name: String, _ owner: String) -> Door {
    let isLocked = outcome == .locked
    var door = Door(
      name, .secret, owner, isLocked ? .passcode : nil, because: [Reason("secretService.\(outcome.rawValue)")])
    door.isDefault = true
    door.whose = isLocked ? .own : nil
    if !isLocked { door.cause = Cause("unknownDoor", observed: "\(name) is open, and where it is kept does not show") }
    return door
  }
}

extension Door {
  fileprivate func isStore(of owner: String, _ provider: String) -> Bool {
    subject == owner && name.hasPrefix("secrets@\(provider):")
  }
}
