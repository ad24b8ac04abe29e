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

  /// Versions are the time in seconds, so that they rise over every machine that signs, and above `last` in any case.
  public func sign(
    _ policy: Policy, for audience: Audience, at now: Int64, life: Int64?, after last: Int64 = 0
  ) throws -> String {
    let below = Self.belowFloor(policy)
    guard usesRoot || below.isEmpty else {
      throw HomeError(
        .refused,
        "policy \(policy.name) demands less than entry (\(below.map(\.rawValue).joined(separator: ", "))): only the root may (--root)"
      )
    }
    let claims = PolicyClaims(
      issuer: usesRoot ? nil : Identity.party(.policy, in: home.site), audience: audience, version: max(now, last + 1),
      issuedAt: now, expires: life.map { now + $0 }, policy: policy)
    if usesRoot { return try Root(key: try Identity.key(home.path(Home.File.rootKey))).policy(claims) }
    return try TokenEncoder.encode(.policy, claims.claims, with: try Identity(.policy, in: home).key)
  }

  /// Signs a policy above the one that the broker keeps, for devices refuse any other, and brings it there.
  public func publish(_ policy: Policy, for audience: Audience, at now: Int64, life: Int64?) throws {
    guard let topic = audience.policyTopic else { throw HomeError(.refused, "\(audience): no policy for one device") }
    try home.locked(Role.policy.rawValue) {
      let link = try OperatorLink(home, as: .policy, subscribe: [Topic(home.site, .trust).text, topic.text])
      try link.waitOnline()
      let token = try sign(policy, for: audience, at: now, life: life, after: try published(audience, link, at: now))
      try link.publish(
        Publication(topic.text, text: token, retain: true, contentType: "application/\(TokenKind.policy.rawValue)"))
      link.close()
    }
  }

  /// The version that the broker keeps; 0 where it keeps none, or one that nobody signed who may.
  private func published(_ audience: Audience, _ link: OperatorLink, at now: Int64) throws -> Int64 {
    var trust = try TrustMemory.load(home)
    var board = PolicyBoard(root: try home.root())
    _ = try link.gather { message in
      guard let topic = Topic(message.topic) else { return }
      if topic.kinds == [.trust] {
        _ = try? trust.accept(message.payload, at: Moment(now))
      } else {
        _ = board.receive(message.payload, on: topic, trust: trust, at: now)
      }
    }
    board.retry(trust: trust, at: now)
    return board.version(for: audience) ?? 0
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
