public import Posture

/// The root's private key, offline: it signs issuers, and the root that follows it.
public struct Root: Sendable {
  public let key: any SigningKey

  public init(key: any SigningKey) { self.key = key }

  public var jwk: JWK { key.publicKey.jwk }

  /// The credential of an issuer. Dates in seconds since the epoch.
  public func issuer(
    _ party: Party, key issuerKey: JWK, protection: KeyProtection = .file, at now: Int64, until expires: Int64
  ) throws(KeyError) -> String {
    let grant = Grant(subject: party, role: .issuer, key: issuerKey, notBefore: now, expires: expires)
    return try sign(CredentialClaims(issuer: nil, issuedAt: now, grant: grant, keyProtection: protection))
  }

  /// Names `next` as the root that follows; this one stays good until `previousUntil`.
  public func rotation(
    to next: JWK, protection: KeyProtection = .file, at now: Int64, until expires: Int64, previousUntil: Int64
  ) throws(KeyError) -> String {
    let grant = Grant(subject: nil, role: .root, key: next, notBefore: now, expires: expires)
    return try sign(
      CredentialClaims(
        issuer: nil, issuedAt: now, grant: grant, keyProtection: protection, previousUntil: previousUntil))
  }

  /// A policy of the root: the only one that may demand less than the built-in floor.
  public func policy(_ claims: PolicyClaims) throws(KeyError) -> String {
    var claims = claims
    claims.issuer = nil
    return try TokenEncoder.encode(.policy, claims.claims, with: key)
  }

  private func sign(_ claims: CredentialClaims) throws(KeyError) -> String {
    try TokenEncoder.encode(.credential, claims.claims, with: key)
  }
}
