public import Posture

/// What a device believes of what the broker brings.
public struct DeviceVerifier: Sendable {
  public let device: Party
  public var groups: [Name]
  public var trust: TrustStore

  public init(device: Party, groups: [Name], trust: TrustStore) {
    self.device = device
    self.groups = groups
    self.trust = trust
  }

  /// A command that one of this device's controllers signed for it. Whether it is obeyed is for the gate to say.
  public struct Command: Hashable, Sendable {
    public let claims: RecheckClaims
    public let controller: Grant
    /// The controller's key.
    public let kid: String
    /// The trust document that names the controller is past its end.
    public let isTrustExpired: Bool
  }

  public struct VerifiedPolicy: Hashable, Sendable {
    public let claims: PolicyClaims
    public let kid: String
    /// Only then may it demand less than the built-in floor.
    public let isFromRoot: Bool
    public let token: Token
    /// SHA-256 of the policy spelt out: what reports name.
    public var digest: String { claims.policy.digest }
  }

  /// A token that is not accepted was not proved to come from a controller, and is only counted.
  public func command(_ bytes: [UInt8], on topic: Topic, at moment: Moment) throws(TokenError) -> Command {
    guard topic.site == device.site, topic.kinds == [.command] else { throw TokenError(.topic, topic.text) }
    let unverified = try TokenDecoder.decode(bytes, kinds: topic.kinds)
    let controller = try trust.authority(unverified.kid, .controller, at: moment)
    let token = try unverified.verified(by: controller.key)
    let claims = try token.claims(RecheckClaims.init(claims:))
    guard claims.issuer == controller.grant.subject else { throw TokenError(.issuer, claims.issuer.urn) }
    guard claims.audience.recheckTopic == topic else { throw TokenError(.subject, claims.audience.urn) }
    guard claims.audience.includes(device, groups: groups), covers(claims.audience, controller.grant) else {
      throw TokenError(.audience, claims.audience.urn)
    }
    return Command(
      claims: claims, controller: controller.grant, kid: token.kid, isTrustExpired: trust.isExpired(at: moment))
  }

  /// A controller that is limited to groups reaches the devices in them, and nobody else.
  private func covers(_ audience: Audience, _ grant: Grant) -> Bool {
    switch audience {
    case .device: grant.groups.isEmpty || !Set(grant.groups).isDisjoint(with: groups)
    case .group(_, let group): grant.covers(group: group)
    case .site: grant.groups.isEmpty
    }
  }

  /// A policy for this device's site or one of its groups, from a policy signer or the root.
  public func policy(_ bytes: [UInt8], on topic: Topic? = nil, at moment: Moment) throws(TokenError) -> VerifiedPolicy {
    let unverified = try TokenDecoder.decode(bytes, kinds: [.policy])
    let (token, claims, signer) = try policyClaims(unverified, at: moment)
    guard claims.audience.includes(device, groups: groups) else { throw TokenError(.audience, claims.audience.urn) }
    if let topic, claims.audience.policyTopic != topic { throw TokenError(.subject, claims.audience.urn) }
    if let signer {
      guard claims.issuer == signer.subject else { throw TokenError(.issuer) }
      guard Self.covers(policy: claims.audience, signer) else { throw TokenError(.audience, claims.audience.urn) }
    } else {
      guard claims.issuer == nil else { throw TokenError(.issuer) }
    }
    guard !moment.isBefore(claims.issuedAt) else { throw TokenError(.notYetValid) }
    if let expires = claims.expires, moment.isPast(expires) { throw TokenError(.expired) }
    return VerifiedPolicy(claims: claims, kid: token.kid, isFromRoot: signer == nil, token: token)
  }

  /// What an issuer of this site answers to this device's request: a newer credential for the same key and party; nil for
  /// the one in force. Whether the TLS certificate fits is asked of the bundle (``EnrolmentBundle/check(key:tlsKey:at:)``).
  public mutating func renewal(
    _ bytes: [UInt8], of current: Credential, at moment: Moment
  ) throws(TokenError) -> (claims: RenewalClaims, credential: Credential)? {
    let unverified = try TokenDecoder.decode(bytes, kinds: [.renewal])
    let claims = try unverified.unverifiedClaims(RenewalClaims.init(claims:))
    guard claims.subject == device else { throw TokenError(.subject, claims.subject.urn) }
    let issuer = try trust.anchors.issuer(claims.issuerCredential)
    guard issuer.grant.subject == claims.issuer else { throw TokenError(.issuer) }
    _ = try unverified.verified(by: issuer.key)
    try issuer.check(at: moment)
    guard !trust.isRevoked(issuer.kid) else { throw TokenError(.revoked, issuer.kid) }
    guard trust.anchors.isGood(issuer.signer, at: moment) else { throw TokenError(.expired, "root") }
    let bytes = Array(claims.credential.utf8)
    if try trust.anchors.credential(bytes) == current { return nil }
    return (claims, try successor(bytes, of: current, at: moment))
  }

  mutating func successor(
    _ bytes: [UInt8], of current: Credential, at moment: Moment
  ) throws(TokenError) -> Credential {
    let next = try trust.anchors.credential(bytes)
    guard next.grant.role == .device else { throw TokenError(.role, next.grant.role.rawValue) }
    guard next.grant.subject == device, next.kid == current.kid else { throw TokenError(.subject) }
    try next.check(at: moment)
    if let issuer = next.issuer, trust.isRevoked(issuer.kid) { throw TokenError(.revoked, issuer.kid) }
    guard trust.anchors.isGood(next.root, at: moment) else { throw TokenError(.expired, "root") }
    guard next.claims.issuedAt > current.claims.issuedAt else { throw TokenError(.rollback) }
    return next
  }

  private static func covers(policy audience: Audience, _ grant: Grant) -> Bool {
    if case .group(_, let group) = audience { return grant.covers(group: group) }
    return grant.groups.isEmpty
  }

  /// The signer is nil for the root.
  private func policyClaims(
    _ unverified: UnverifiedToken, at moment: Moment
  ) throws(TokenError) -> (Token, PolicyClaims, Grant?) {
    var signer: Grant?
    let token: Token
    if let root = trust.anchors.key(unverified.kid) {
      guard trust.anchors.isGood(unverified.kid, at: moment) else { throw TokenError(.expired, "root") }
      token = try unverified.verified(by: root)
    } else {
      let authority = try trust.authority(unverified.kid, .policy, at: moment)
      token = try unverified.verified(by: authority.key)
      signer = authority.grant
    }
    return (token, try token.claims(PolicyClaims.init(claims:)), signer)
  }
}

extension Policy {
  /// SHA-256 (base64url) of the policy spelt out.
  public var digest: String { SHA256.text(of: json.bytes) }
}
