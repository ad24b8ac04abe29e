/// A site, device or group name: `[a-z0-9][a-z0-9-]{0,62}`, so that none can be a wildcard, a path or another's twin.
public struct Name: Hashable, Sendable, CustomStringConvertible {
  public let description: String

  public init?(_ text: some StringProtocol) {
    let bytes = text.utf8
    let isGood = bytes.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
      default: false
      }
    }
    guard isGood, (1...63).contains(bytes.count), bytes.first != UInt8(ascii: "-") else { return nil }
    description = String(text)
  }
}

/// Where on the broker a message is published: `posture/v1/{site}/…`.
public struct Topic: Hashable, Sendable {
  public enum Place: Hashable, Sendable {
    case report(Name)
    case event(Name)
    case presence(Name)
    case reply(Name)
    case keys(Name)
    /// The device asks to have its credential renewed, and is answered.
    case request(Name)
    case renewal(Name)
    case recheckDevice(Name)
    case recheckGroup(Name)
    case recheckAll
    case trust
    case revoked
    /// A part of the list of revoked keys.
    case revokedPart(Int)
    case policy
    case groupPolicy(Name)
  }

  public static let prefix = "posture/v1"

  public var site: Name
  public var place: Place

  public init(_ site: Name, _ place: Place) {
    self.site = site
    self.place = place
  }

  public var text: String { "\(Self.prefix)/\(site)/\(tail)" }

  private var tail: String {
    switch place {
    case .report(let device): "d/\(device)/report"
    case .event(let device): "d/\(device)/event"
    case .presence(let device): "d/\(device)/presence"
    case .reply(let device): "d/\(device)/reply"
    case .keys(let device): "d/\(device)/keys"
    case .request(let device): "d/\(device)/request"
    case .renewal(let device): "d/\(device)/renewal"
    case .recheckDevice(let device): "d/\(device)/cmd/recheck"
    case .recheckGroup(let group): "g/\(group)/cmd/recheck"
    case .recheckAll: "all/cmd/recheck"
    case .trust: "trust"
    case .revoked: "revoked"
    case .revokedPart(let number): "revoked/\(number)"
    case .policy: "policy"
    case .groupPolicy(let group): "g/\(group)/policy"
    }
  }

  /// nil for a topic that is none of ours.
  public init?(_ text: String) {
    let levels = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map(Substring.init)
    guard levels.count >= 4, levels[0] == "posture", levels[1] == "v1", let site = Name(levels[2]),
      let place = Self.place(Array(levels[3...]))
    else { return nil }
    self.init(site, place)
  }

  private static func place(_ levels: [Substring]) -> Place? {
    switch (levels.count, levels[0], levels.last) {
    case (1, "trust", _): return .trust
    case (1, "revoked", _): return .revoked
    case (1, "policy", _): return .policy
    case (2, "revoked", let part?):
      return Int(part).flatMap { $0 >= 0 && String($0) == part ? .revokedPart($0) : nil }
    case (3, "all", "recheck") where levels[1] == "cmd": return .recheckAll
    case (3, "g", "policy"): return Name(levels[1]).map(Place.groupPolicy)
    case (4, "g", "recheck") where levels[2] == "cmd": return Name(levels[1]).map(Place.recheckGroup)
    case (4, "d", "recheck") where levels[2] == "cmd": return Name(levels[1]).map(Place.recheckDevice)
    case (3, "d", let leaf?): return Name(levels[1]).flatMap { devicePlace(leaf, $0) }
    default: return nil
    }
  }

  private static func devicePlace(_ leaf: Substring, _ device: Name) -> Place? {
    switch leaf {
    case "report": .report(device)
    case "event": .event(device)
    case "presence": .presence(device)
    case "reply": .reply(device)
    case "keys": .keys(device)
    case "request": .request(device)
    case "renewal": .renewal(device)
    default: nil
    }
  }

  /// The kinds of token that are accepted here: one, but for `reply`.
  public var kinds: [TokenKind] {
    switch place {
    case .report: [.report]
    case .event: [.event]
    case .presence: [.presence]
    case .reply: [.report, .progress, .refusal]
    case .keys: [.credential]
    case .request: [.request]
    case .renewal: [.renewal]
    case .recheckDevice, .recheckGroup, .recheckAll: [.command]
    case .trust: [.trust]
    case .revoked, .revokedPart: [.revoked]
    case .policy, .groupPolicy: [.policy]
    }
  }

  /// The broker keeps the last message for those who come later.
  public var isRetained: Bool {
    switch place {
    case .report, .presence, .keys, .request, .renewal, .trust, .revoked, .revokedPart, .policy, .groupPolicy: true
    case .event, .reply, .recheckDevice, .recheckGroup, .recheckAll: false
    }
  }

  /// The device whose topic this is.
  public var device: Name? {
    switch place {
    case .report(let name), .event(let name), .presence(let name), .reply(let name), .keys(let name),
      .request(let name), .renewal(let name), .recheckDevice(let name):
      name
    default: nil
    }
  }
}
