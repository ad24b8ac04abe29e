public import Posture

/// The root keys that are believed: the pinned one, and those that it, or one after it, named as its successors.
public struct TrustAnchors: Sendable {
  struct Anchor: Sendable {
    let key: PublicKey
    /// Seconds since the epoch; nil: until a successor is named.
    var until: Int64?
  }

  private var anchors: [String: Anchor] = [:]
  /// Rotations that were accepted, oldest first.
  public private(set) var rotations: [String] = []
  /// Issuers seen before, by the text of their credential: thousands of credentials bring the same one along.
  private var issuers: [String: Credential] = [:]
  private static let rememberedIssuers = 64

  public init(root: JWK) throws(KeyError) {
    let key = try PublicKey(root)
    anchors[key.kid] = Anchor(key: key)
  }

  /// The keys (kid) that are good at `moment`.
  public func keys(at moment: Moment) -> [String] { anchors.keys.filter { isGood($0, at: moment) }.sorted() }

  /// Whether the root `kid` is known and has not been succeeded for good.
  public func isGood(_ kid: String, at moment: Moment) -> Bool {
    guard let anchor = anchors[kid] else { return false }
    return anchor.until.map { !moment.isPast($0) } ?? true
  }

  /// When the root `kid` ends, for it has a successor; nil: no end is known.
  func end(of kid: String) -> Int64? { anchors[kid]?.until }

  func key(_ kid: String) -> PublicKey? { anchors[kid]?.key }

  /// Takes over a successor of a root that is known here. One that is known already changes nothing.
  public mutating func accept(rotation text: String, at moment: Moment) throws(TokenError) {
    if rotations.contains(text) { return }
    let next = try credential(Array(text.utf8))
    guard next.grant.role == .root else { throw TokenError(.role, "not a rotation of the root") }
    try next.grant.check(at: moment)
    guard isGood(next.signer, at: moment) else { throw TokenError(.expired, "root") }
    // Of two successors the earlier end counts.
    let end = next.claims.previousUntil ?? next.grant.notBefore
    let until = anchors[next.signer]?.until
    anchors[next.signer]?.until = min(until ?? end, end)
    if anchors[next.kid] == nil { anchors[next.kid] = Anchor(key: next.key) }
    rotations.append(text)
  }

  /// Takes over rotations, oldest first. Of roots before the one that is pinned here nothing is believed, and nothing is
  /// needed.
  public mutating func accept(rotations: [String], at moment: Moment) throws(TokenError) {
    for rotation in rotations {
      do throws(TokenError) { try accept(rotation: rotation, at: moment) } catch {
        guard error.code == .unknownRoot else { throw error }
      }
    }
  }

  /// The root (kid) that has no successor.
  public var newest: String? { anchors.first { $0.value.until == nil }?.key }

  /// A credential with its chain of signatures. Whether it is good now is asked of the credential.
  public mutating func credential(_ bytes: [UInt8]) throws(TokenError) -> Credential {
    let token = try TokenDecoder.decode(bytes, kinds: [.credential])
    let claims = try token.unverifiedClaims(CredentialClaims.init(claims:))
    guard let issuerText = claims.issuerCredential else { return try rootSigned(token, claims) }
    let issuer = try self.issuer(issuerText)
    guard issuer.grant.subject == claims.issuer else { throw TokenError(.issuer) }
    try token.verify(by: issuer.key)
    return try Self.credential(
      claims, signer: token.kid,
      issuer: Credential.Issuer(grant: issuer.grant, kid: issuer.kid, signer: issuer.signer))
  }

  /// The issuer whose credential another token brings along.
  mutating func issuer(_ text: String) throws(TokenError) -> Credential {
    if let known = issuers[text] { return known }
    let token = try TokenDecoder.decode(text, kinds: [.credential])
    let claims = try token.unverifiedClaims(CredentialClaims.init(claims:))
    guard claims.issuerCredential == nil else { throw TokenError(.depth) }
    let issuer = try rootSigned(token, claims)
    guard issuer.grant.role == .issuer else { throw TokenError(.role, "not an issuer") }
    if issuers.count >= Self.rememberedIssuers { issuers = [:] }
    issuers[text] = issuer
    return issuer
  }

  private func rootSigned(_ token: UnverifiedToken, _ claims: CredentialClaims) throws(TokenError) -> Credential {
    guard let root = anchors[token.kid] else { throw TokenError(.unknownRoot, token.kid) }
    try token.verify(by: root.key)
    return try Self.credential(claims, signer: token.kid, issuer: nil)
  }

  /// Of claims whose signature is good.
  private static func credential(
    _ claims: CredentialClaims, signer: String, issuer: Credential.Issuer?
  ) throws(TokenError) -> Credential {
    var claims = claims
    claims.issuerCredential = nil
    let key: PublicKey
    do throws(KeyError) { key = try PublicKey(claims.grant.key) } catch { throw TokenError(.key, error.description) }
    return Credential(claims: claims, key: key, signer: signer, issuer: issuer)
  }
}
