public import Posture

/// Whom this site obeys: the latest trust document, and the lowest version that will do.
///
/// A value: whoever holds it keeps ``saved`` on disk before acting on what it accepted.
public struct TrustStore: Sendable {
  public enum Acceptance: Hashable, Sendable {
    /// It replaces what was there.
    case accepted
    /// The one that is in force already.
    case known
  }

  public let site: Name
  public internal(set) var anchors: TrustAnchors
  /// In force; nil before the first.
  public private(set) var current: TrustClaims?
  public private(set) var token: Token?
  /// A lower `ver` is refused for good.
  public private(set) var floor: Int64 = 0
  private var authorities: [String: Authority] = [:]

  /// A controller or policy signer with its key ready for use.
  public struct Authority: Hashable, Sendable {
    public let grant: Grant
    public let key: PublicKey
  }

  public init(site: Name, root: JWK) throws(KeyError) {
    self.site = site
    anchors = try TrustAnchors(root: root)
  }

  // MARK: Documents

  /// Takes a trust document of this site if it is newer than everything seen before.
  @discardableResult
  public mutating func accept(_ bytes: [UInt8], at moment: Moment) throws(TokenError) -> Acceptance {
    if bytes == token?.bytes { return .known }
    var anchors = anchors
    let (token, claims) = try Self.verify(bytes, site: site, &anchors, at: moment)
    // An issuer that was taken back does not bring itself back.
    guard !isRevoked(token.kid) else { throw TokenError(.revoked, token.kid) }
    guard claims.version >= floor else { throw TokenError(.rollback, "ver \(claims.version) below \(floor)") }
    if claims.version == floor, let current = self.token {
      guard token.payload == current.payload else { throw TokenError(.fork, "ver \(floor)") }
      return .known
    }
    authorities = try Self.authorities(claims)
    self.anchors = anchors
    self.token = token
    current = claims
    floor = claims.version
    return .accepted
  }

  private static func verify(
    _ bytes: [UInt8], site: Name, _ anchors: inout TrustAnchors, at moment: Moment
  ) throws(TokenError) -> (Token, TrustClaims) {
    let unverified = try TokenDecoder.decode(bytes, kinds: [.trust])
    let claims = try unverified.unverifiedClaims(TrustClaims.init(claims:))
    guard claims.issuer.site == site else { throw TokenError(.subject, claims.issuer.urn) }
    try anchors.accept(rotations: claims.rootRotations, at: moment)
    let issuer = try anchors.issuer(claims.issuerCredential)
    guard issuer.grant.subject == claims.issuer else { throw TokenError(.issuer) }
    let token = try unverified.verified(by: issuer.key)
    try issuer.check(at: moment)
    guard anchors.isGood(issuer.signer, at: moment) else { throw TokenError(.expired, "root") }
    guard !claims.revokedAuthorities.contains(issuer.kid) else { throw TokenError(.revoked, issuer.kid) }
    guard !moment.isBefore(claims.issuedAt) else { throw TokenError(.notYetValid) }
    return (token, claims)
  }

  private static func authorities(_ claims: TrustClaims) throws(TokenError) -> [String: Authority] {
    var authorities: [String: Authority] = [:]
    for grant in claims.authorized {
      let key: PublicKey
      do throws(KeyError) { key = try PublicKey(grant.key) } catch { throw TokenError(.key, error.description) }
      authorities[key.kid] = Authority(grant: grant, key: key)
    }
    return authorities
  }

  // MARK: Questions

  /// ``TrustAnchors/credential(_:)``.
  public mutating func credential(_ bytes: [UInt8]) throws(TokenError) -> Credential { try anchors.credential(bytes) }

  /// No document, or one past its end: reports go on, commands are refused.
  public func isExpired(at moment: Moment) -> Bool { current.map { moment.isPast($0.expires) } ?? true }

  /// Less than a third of its life is left.
  public func needsRenewal(at moment: Moment) -> Bool {
    guard let current else { return true }
    return moment.seconds >= current.expires - (current.expires - current.issuedAt) / 3
  }

  /// The signer `kid`, if it is listed for `role`, has not been taken back and is within its dates.
  public func authority(_ kid: String, _ role: Role, at moment: Moment) throws(TokenError) -> Authority {
    if isRevoked(kid) { throw TokenError(.revoked, kid) }
    guard let authority = authorities[kid] else { throw TokenError(.unknownKey, kid) }
    guard authority.grant.role == role else { throw TokenError(.role, authority.grant.role.rawValue) }
    try authority.grant.check(at: moment)
    return authority
  }

  public func isRevoked(_ kid: String) -> Bool { current?.revokedAuthorities.contains(kid) ?? false }

  /// The time that the document proves to have passed: a lower bound for a clock that is not trusted.
  public var provenTime: Int64 { current?.issuedAt ?? 0 }

  // MARK: On disk

  /// What has to survive a restart.
  public var saved: JSON {
    .build { object in
      object("floor", .integer(floor))
      object("rotations", .array(anchors.rotations.map(JSON.string)))
      object("trust", optional: token?.text)
    }
  }

  /// Takes up what was ``saved``. The signatures are checked again; dates are not, for they were then. Without a
  /// readable document the floor still holds.
  public mutating func restore(_ saved: JSON) {
    let then = Moment(0, isTrusted: false)
    for rotation in saved["rotations"]?.strings ?? [] { try? anchors.accept(rotation: rotation, at: then) }
    if let trust = saved["trust"]?.string { _ = try? accept(Array(trust.utf8), at: then) }
    floor = max(floor, saved["floor"]?.integer ?? 0)
  }
}
