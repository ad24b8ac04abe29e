public import Posture

/// A credential whose chain of signatures ends at a root that is known here. Its dates are a separate question
/// (``check(at:)``), so that what is verified once can be asked again later.
public struct Credential: Hashable, Sendable {
  /// Without the issuer's credential: a monitor keeps one of these per device, and ``issuer`` says what is left of it.
  public let claims: CredentialClaims
  public let key: PublicKey
  /// The key that signed it.
  public let signer: String
  /// The issuer between the root and this one; nil for an issuer and a root.
  public let issuer: Issuer?

  /// What is left of the issuer's credential.
  public struct Issuer: Hashable, Sendable {
    public let grant: Grant
    public let kid: String
    /// The root's key.
    public let signer: String
  }

  public var grant: Grant { claims.grant }
  public var kid: String { key.kid }
  /// The root that it goes back to.
  public var root: String { issuer?.signer ?? signer }

  /// Throws `expired` or `notYetValid`, for itself or its issuer.
  public func check(at moment: Moment) throws(TokenError) {
    try grant.check(at: moment)
    try issuer?.grant.check(at: moment)
  }
}

extension Grant {
  public func check(at moment: Moment) throws(TokenError) {
    guard !moment.isPast(expires) else { throw TokenError(.expired, subject?.urn) }
    guard !moment.isBefore(notBefore) else { throw TokenError(.notYetValid, subject?.urn) }
  }

  /// A grant without groups is for all of the site.
  public func covers(group: Name) -> Bool { groups.isEmpty || groups.contains(group) }
}
