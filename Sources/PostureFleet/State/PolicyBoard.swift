public import Posture
public import PostureTokens

/// The policies in force on a site: tells who is not on theirs yet.
public struct PolicyBoard: Sendable {
  private struct Entry: Sendable {
    var name: String
    var digest: String
    var version: Int64
  }

  private var site: Entry?
  private var groups: [String: Entry] = [:]
  private let root: PublicKey?
  /// What nobody known has signed yet, by topic: the trust document that names the signer may be on its way.
  private var waiting: [Topic: [UInt8]] = [:]
  private static let mostWaiting = 64

  /// `root`: the pinned one, whose policies count too.
  public init(root: JWK) {
    do throws(KeyError) { self.root = try PublicKey(root) } catch { self.root = nil }
  }

  /// Takes a policy from its topic; false where it is none, or nobody's who may sign one. Then it is kept for
  /// ``retry(trust:at:)``.
  public mutating func receive(_ bytes: [UInt8], on topic: Topic, trust: TrustStore, at now: Int64) -> Bool {
    waiting[topic] = nil
    guard let claims = verified(bytes, trust, at: now), claims.audience.policyTopic == topic else {
      if waiting.count < Self.mostWaiting { waiting[topic] = bytes }
      return false
    }
    let entry = Entry(name: claims.policy.name, digest: claims.policy.digest, version: claims.version)
    switch claims.audience {
    case .site: site = newer(site, entry)
    case .group(_, let group): groups[group.description] = newer(groups[group.description], entry)
    case .device: return false
    }
    return true
  }

  /// Another trust document has come.
  public mutating func retry(trust: TrustStore, at now: Int64) {
    for (topic, bytes) in waiting { _ = receive(bytes, on: topic, trust: trust, at: now) }
  }

  private func newer(_ old: Entry?, _ new: Entry) -> Entry { old.map { $0.version > new.version ? $0 : new } ?? new }

  private func verified(_ bytes: [UInt8], _ trust: TrustStore, at now: Int64) -> PolicyClaims? {
    guard let unverified = try? TokenDecoder.decode(bytes, kinds: [.policy]) else { return nil }
    let key =
      root?.kid == unverified.kid
      ? root : try? trust.authority(unverified.kid, .policy, at: Moment(now)).key
    guard let key, let token = try? unverified.verified(by: key) else { return nil }
    guard let claims = try? token.claims(PolicyClaims.init(claims:)) else { return nil }
    return claims.expires.map { $0 > now } ?? true ? claims : nil
  }

  /// The version in force; nil where nothing is known to be published.
  func version(for audience: Audience) -> Int64? {
    switch audience {
    case .site: site?.version
    case .group(_, let group): groups[group.description]?.version
    case .device: nil
    }
  }

  /// The policy that a device of these groups should be on; nil: none was published, or its groups disagree.
  private func expected(_ memberships: [String]) -> Entry? {
    let own = memberships.compactMap { groups[$0] }
    return own.isEmpty ? site : (Set(own.map(\.digest)).count == 1 ? own[0] : nil)
  }

  /// The name of the policy that the device should be on and is not.
  public func due(_ row: DeviceRow) -> String? {
    guard let expected = expected(row.groups), let digest = row.policyDigest, digest != expected.digest else {
      return nil
    }
    return expected.name
  }
}
