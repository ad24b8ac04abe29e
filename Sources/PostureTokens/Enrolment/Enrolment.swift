public import Posture

/// Everything that an issuer needs to take somebody in.
public struct Enrolment: Sendable {
  public let root: JWK
  public let issuer: Issuer
  public let authority: CertificateAuthority
  /// The trust document of the day.
  public let trust: String?

  public init(root: JWK, issuer: Issuer, authority: CertificateAuthority, trust: String?) {
    self.root = root
    self.issuer = issuer
    self.authority = authority
    self.trust = trust
  }

  /// The bundle for a request that somebody has looked at. `name` is the issuer's decision. Dates in seconds since the
  /// epoch; `until` is for credential and certificate alike.
  public func bundle(
    for request: EnrolmentRequest, name: Name, role: Role, groups: [Name] = [], broker: EnrolmentBundle.Broker,
    at now: Int64, until: Int64
  ) throws(EnrolmentError) -> EnrolmentBundle {
    let party = Party(issuer.party.site, name)
    let grant = Grant(
      subject: party, role: role, groups: groups, key: request.key.jwk, notBefore: now - Moment.leeway, expires: until)
    let credential: String
    do throws(KeyError) {
      credential = try issuer.credential(grant, protection: request.claims.keyProtection, at: now)
    } catch { throw .key(error) }
    do throws(CertificateError) {
      let certificate = try authority.sign(
        request.tlsRequest, commonName: name, site: party.site, usage: .client, at: now, until: until)
      return EnrolmentBundle(
        party: party, role: role, groups: groups, credential: credential, tlsCertificate: try certificate.pem(),
        tlsAuthority: try authority.certificate.pem(), root: root, trust: trust, broker: broker)
    } catch { throw .certificate(error) }
  }
}

extension EnrolmentBundle {
  /// What the receiver makes sure of before it installs the bundle: it is for its own two keys, and whole.
  /// `tlsKey` is nil where the caller cannot read it.
  public func check(
    key: PublicKey, tlsKey: FileKey?, at moment: Moment
  ) throws(EnrolmentError) -> (credential: Credential, trust: TrustStore) {
    var store: TrustStore
    do throws(KeyError) { store = try TrustStore(site: party.site, root: root) } catch { throw .key(error) }
    let credential: Credential
    do throws(TokenError) {
      if let trust { try store.accept(Array(trust.utf8), at: moment) }
      credential = try store.anchors.credential(Array(self.credential.utf8))
      try credential.check(at: moment)
    } catch { throw .token(error) }
    guard credential.kid == key.kid else { throw .mismatch("the credential is for another key") }
    guard credential.grant.subject == party, credential.grant.role == role, credential.grant.groups == groups else {
      throw .mismatch("the credential is for another party")
    }
    try checkCertificate(tlsKey)
    return (credential, store)
  }

  /// With what an issuer answered to a request for renewal. `trust`: the document in force, which may be what the new
  /// credential's root is known by.
  public func renewed(_ claims: RenewalClaims, _ credential: Credential, trust: String?) -> EnrolmentBundle {
    var next = self
    next.credential = claims.credential
    next.tlsCertificate = claims.tlsCertificate
    next.groups = credential.grant.groups
    next.trust = trust ?? self.trust
    return next
  }

  private func checkCertificate(_ tlsKey: FileKey?) throws(EnrolmentError) {
    let certificate: Certificate
    let authority: Certificate
    do throws(CertificateError) {
      certificate = try Certificate(pem: tlsCertificate)
      authority = try Certificate(pem: tlsAuthority)
    } catch { throw .certificate(error) }
    guard certificate.isSigned(by: authority) else { throw .mismatch("the TLS certificate is of another authority") }
    guard certificate.commonName == party.name.description else {
      throw .mismatch("the TLS certificate is for another name")
    }
    if let tlsKey, !certificate.belongs(to: tlsKey) { throw .mismatch("the TLS certificate is for another key") }
  }
}
