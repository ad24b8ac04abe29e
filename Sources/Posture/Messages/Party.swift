/// Somebody of a site who signs: a device, a controller, an issuer. As `iss` and `sub`: `urn:posture:{site}:{name}`.
public struct Party: Hashable, Sendable, CustomStringConvertible {
  /// The `iss` of the pinned key that stands above all sites.
  public static let root = "urn:posture:root"
  static let prefix = "urn:posture:"

  public var site: Name
  public var name: Name

  public init(_ site: Name, _ name: Name) {
    self.site = site
    self.name = name
  }

  public init?(urn: String) {
    guard let parts = Self.parts(of: urn), parts.count == 2, let site = Name(parts[0]), let name = Name(parts[1]) else {
      return nil
    }
    self.init(site, name)
  }

  /// What stands between colons behind the prefix.
  static func parts(of urn: String) -> [Substring]? {
    guard urn.utf8.starts(with: prefix.utf8) else { return nil }
    let rest = urn.utf8.dropFirst(prefix.utf8.count)
    return rest.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map(Substring.init)
  }

  public var urn: String { "\(Self.prefix)\(site):\(name)" }
  public var description: String { urn }
}

/// Whom a command or a policy is for: `urn:posture:{site}:{device}`, `urn:posture:{site}:g:{group}`,
/// `urn:posture:{site}` for all of a site.
public enum Audience: Hashable, Sendable, CustomStringConvertible {
  case device(Party)
  case group(site: Name, Name)
  case site(Name)

  public init?(urn: String) {
    if let party = Party(urn: urn) {
      self = .device(party)
      return
    }
    guard let parts = Party.parts(of: urn), let site = Name(parts[0]) else { return nil }
    switch parts.count {
    case 1: self = .site(site)
    case 3 where parts[1] == "g":
      guard let group = Name(parts[2]) else { return nil }
      self = .group(site: site, group)
    default: return nil
    }
  }

  public var urn: String {
    switch self {
    case .device(let party): party.urn
    case .group(let site, let group): "\(Party.prefix)\(site):g:\(group)"
    case .site(let site): "\(Party.prefix)\(site)"
    }
  }
  public var description: String { urn }

  public var site: Name {
    switch self {
    case .device(let party): party.site
    case .group(let site, _), .site(let site): site
    }
  }

  /// Whether `device`, which is in `groups`, is meant.
  public func includes(_ device: Party, groups: [Name]) -> Bool {
    switch self {
    case .device(let party): party == device
    case .group(let site, let group): site == device.site && groups.contains(group)
    case .site(let site): site == device.site
    }
  }

  /// The topic on which a recheck for this audience is sent.
  public var recheckTopic: Topic {
    switch self {
    case .device(let party): Topic(party.site, .recheckDevice(party.name))
    case .group(let site, let group): Topic(site, .recheckGroup(group))
    case .site(let site): Topic(site, .recheckAll)
    }
  }

  /// The topic of a policy for this audience; nil for one device.
  public var policyTopic: Topic? {
    switch self {
    case .device: nil
    case .group(let site, let group): Topic(site, .groupPolicy(group))
    case .site(let site): Topic(site, .policy)
    }
  }
}
