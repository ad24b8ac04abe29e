public import Posture

/// An issuer's private key with the credential that the root gave it: it signs credentials and the trust documents.
public struct Issuer: Sendable {
  public let party: Party
  public let key: any SigningKey
  /// `posture-credential+jwt`, signed by the root; embedded in everything that this issuer signs.
  public let credential: String

  public init(party: Party, key: any SigningKey, credential: String) {
    self.party = party
    self.key = key
    self.credential = credential
  }

  /// The credential of a device, controller, monitor or policy signer of this site.
  public func credential(
    _ grant: Grant, protection: KeyProtection = .file, at now: Int64
  ) throws(KeyError) -> String {
    let claims = CredentialClaims(
      issuer: party, issuedAt: now, grant: grant, keyProtection: protection, issuerCredential: credential)
    return try TokenEncoder.encode(.credential, claims.claims, with: key)
  }

  /// The answer to a device that asked for its renewal.
  public func renewal(
    of subject: Party, credential: String, tlsCertificate: String, at now: Int64
  ) throws(KeyError) -> String {
    let claims = RenewalClaims(
      issuer: party, subject: subject, issuedAt: now, credential: credential, tlsCertificate: tlsCertificate,
      issuerCredential: self.credential)
    return try TokenEncoder.encode(.renewal, claims.claims, with: key)
  }

  /// The next trust document of the site. `version` has to be above the last one's.
  public func trust(
    version: Int64, at now: Int64, until expires: Int64, authorized: [Grant], revokedAuthorities: [String] = [],
    revokedList: TrustClaims.RevokedList? = nil, rootRotations: [String] = []
  ) throws(KeyError) -> String {
    let claims = TrustClaims(
      issuer: party, version: version, issuedAt: now, expires: expires, authorized: authorized,
      revokedAuthorities: revokedAuthorities, revokedList: revokedList, rootRotations: rootRotations,
      issuerCredential: credential)
    return try TokenEncoder.encode(.trust, claims.claims, with: key)
  }

  /// The list of revoked device keys in as many tokens as it takes (``RevokedClaims/topic(_:part:)``), and what the next
  /// trust document has to say of it.
  public func revoked(
    _ kids: some Sequence<String>, version: Int64, at now: Int64
  ) throws(RevocationError) -> (tokens: [String], list: TrustClaims.RevokedList) {
    let kids = Set(kids).sorted()
    let size = RevokedClaims.keysPerPart
    let count = max(1, (kids.count + size - 1) / size)
    guard count <= RevokedClaims.mostParts else { throw .tooMany(kids.count) }
    var tokens: [String] = []
    var digests: [[UInt8]] = []
    for part in 0..<count {
      let claims = RevokedClaims(
        issuer: party, version: version, part: part, parts: count, issuedAt: now,
        keys: Array(kids.dropFirst(part * size).prefix(size)), issuerCredential: credential
      ).claims
      do throws(KeyError) { tokens.append(try TokenEncoder.encode(.revoked, claims, with: key)) } catch {
        throw .key(error)
      }
      digests.append(SHA256.digest(of: claims.bytes))
    }
    return (
      tokens,
      TrustClaims.RevokedList(version: version, parts: count, digest: RevokedKeys.digest(ofParts: digests))
    )
  }

  public enum RevocationError: Error, Hashable, Sendable {
    /// More keys than ``RevokedClaims/mostParts`` parts hold.
    case tooMany(Int)
    case key(KeyError)
  }
}
