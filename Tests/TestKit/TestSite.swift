public import Posture
public import PostureTokens

/// A root, an issuer, a controller, a policy signer and devices of one site, with keys made for the occasion.
public struct TestSite: Sendable {
  public static let start: Int64 = 1_790_000_000

  public let name: Name
  public let root: Root
  public let issuer: Issuer
  public let controller: FileKey
  public let policySigner: FileKey
  public let now: Int64

  public init(_ site: String = "site-a", now: Int64 = Self.start) throws {
    let name = Name(site)!
    let root = Root(key: try FileKey.generate())
    let issuerKey = try FileKey.generate()
    let issuerParty = Party(name, Name("issuer")!)
    let credential = try root.issuer(
      issuerParty, key: issuerKey.publicKey.jwk, at: now - 1_000, until: now + 10_000_000)
    self.name = name
    self.root = root
    self.now = now
    issuer = Issuer(party: issuerParty, key: issuerKey, credential: credential)
    controller = try FileKey.generate()
    policySigner = try FileKey.generate()
  }

  public func party(_ name: String) -> Party { Party(self.name, Name(name)!) }

  public func grant(_ name: String, _ role: Role, _ key: PublicKey, groups: [Name] = []) -> Grant {
    Grant(
      subject: party(name), role: role, groups: groups, key: key.jwk, notBefore: now - 1_000, expires: now + 1_000_000)
  }

  /// The credential of a device.
  public func credential(_ name: String, _ key: PublicKey, groups: [Name] = []) throws -> String {
    try issuer.credential(grant(name, .device, key, groups: groups), at: now)
  }

  /// A trust document that names the controller ("controller") and the policy signer ("policy").
  public func trust(version: Int64 = 1, until: Int64? = nil) throws -> String {
    try issuer.trust(
      version: version, at: now - 100, until: until ?? now + 1_000_000,
      authorized: [
        grant("controller", .controller, controller.publicKey), grant("policy", .policy, policySigner.publicKey),
      ])
  }

  /// A trust store that has taken ``trust(version:until:)``.
  public func store() throws -> TrustStore {
    var store = try TrustStore(site: name, root: root.jwk)
    try store.accept(Array(trust().utf8), at: Moment(now))
    return store
  }

  /// A recheck for one device, signed by the controller.
  public func recheck(
    _ audience: Audience, id: String = "jti-00000001", nonce: String = "nonce-00000001", life: Int64 = 120,
    challenge: String? = nil, sequence: Int64? = nil, at: Int64? = nil
  ) throws -> String {
    let iat = at ?? now
    let claims = RecheckClaims(
      issuer: party("controller"), audience: audience, issuedAt: iat, expires: iat + life, id: id, nonce: nonce,
      challenge: challenge, sequence: sequence)
    return try TokenEncoder.encode(.command, claims.claims, with: controller)
  }
}
