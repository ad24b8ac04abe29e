public import Posture
import PosturePlatform
import PostureMQTT
import PostureTokens

/// Signs and publishes policies.
public struct PolicyDesk {
  private let home: Home
  private let usesRoot: Bool

  /// `usesRoot`: with the root's key, for a policy that demands less than the floor.
  public init(_ home: Home, usesRoot: Bool) {
    self.home = home
    self.usesRoot = usesRoot
  }

  /// Checks that `policy` demands less of than the built-in floor does.
  public static func belowFloor(_ policy: Policy) -> [CheckName] {
    CheckName.allCases.filter { policy.demand(of: $0).weight < Policy.entry.demand(of: $0).weight }
  }

  /// Versions are the time in seconds, so that they rise over every machine that signs.
  public func sign(_ policy: Policy, for audience: Audience, at now: Int64, life: Int64?) throws -> String {
    let below = Self.belowFloor(policy)
    guard usesRoot || below.isEmpty else {
      throw HomeError(
        .refused,
        "policy \(policy.name) demands less than entry (\(below.map(\.rawValue).joined(separator: ", "))): only the root may (--root)"
      )
    }
    let claims = PolicyClaims(
      issuer: usesRoot ? nil : Identity.party(.policy, in: home.site), audience: audience, version: now, issuedAt: now,
      expires: life.map { now + $0 }, policy: policy)
    if usesRoot { return try Root(key: try Identity.key(home.path(Home.File.rootKey))).policy(claims) }
    return try TokenEncoder.encode(.policy, claims.claims, with: try Identity(.policy, in: home).key)
  }

  public func publish(_ token: String, for audience: Audience) throws {
    guard let topic = audience.policyTopic else { throw HomeError(.refused, "\(audience): no policy for one device") }
    let link = try OperatorLink(home, as: .policy, subscribe: [])
    try link.waitOnline()
    try link.publish(
      Publication(topic.text, text: token, retain: true, contentType: "application/\(TokenKind.policy.rawValue)"))
    link.close()
  }
}

extension Policy.Demand {
  fileprivate var weight: Int {
    switch self {
    case .inform: 0
    case .requireIfPresent: 1
    case .require: 2
    }
  }
}
