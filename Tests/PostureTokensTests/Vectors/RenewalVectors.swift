import Posture
@testable import PostureTokens

/// An issuer's answers to a device that asked for a new credential.
extension VectorBook {
  private mutating func renewal(
    _ name: String, _ expect: Vector.Expectation, given: [String] = [Self.trust, Self.keys], why: String,
    _ token: String
  ) {
    add("renewal/\(name)", expect, .device, on: .renewal(site.device), given: given, why: why, token)
  }

  mutating func addRenewals() throws {
    let now = VectorSite.now
    let issuer = site.issuer
    renewal("of-another-device", .reject(.subject), why: "", try site.renewal(of: "edge-0043"))
    renewal(
      "of-another-key", .reject(.subject), why: "nobody else's key takes this device's place",
      try site.renewal(key: VectorSite.key("device-2")))
    renewal("older", .reject(.rollback), why: "the broker kept an answer of before", try site.renewal(at: now - 7_200))
    renewal("expired", .reject(.expired), why: "", try site.renewal(until: now - 1))
    renewal("role", .reject(.role), why: "a device does not become a controller", try site.renewal(role: .controller))
    let foreign = try VectorSite.issuer("foreign-issuer", of: Root(key: VectorSite.key("foreign-root")))
    renewal("foreign-root", .reject(.unknownRoot), why: "", try site.renewal(by: foreign))
    let wrongKey = Issuer(party: issuer.party, key: VectorSite.key("stranger"), credential: issuer.credential)
    renewal("signed-by-another", .reject(.unknownKey), why: "", try site.renewal(by: wrongKey))
    let renamed = Issuer(party: site.party("other"), key: issuer.key, credential: issuer.credential)
    renewal("iss-not-the-issuer", .reject(.issuer), why: "", try site.renewal(by: renamed))
    let device = Issuer(party: site.party("edge-0042"), key: site.deviceKey, credential: try site.keys())
    renewal("signed-by-the-device", .reject(.depth), why: "nobody renews themselves", try site.renewal(by: device))
    renewal(
      "issuer-revoked", .reject(.revoked), given: [Self.trust, Self.keys, "trust/revokes-second-issuer"], why: "",
      try site.renewal(by: VectorSite.issuer("issuer-2", of: site.root)))
    let inner = try site.keys(
      by: Issuer(party: issuer.party, key: VectorSite.key("stranger"), credential: issuer.credential))
    let certificate = try VectorSite.certificate.get()
    renewal(
      "credential-forged", .reject(.unknownKey), why: "the answer is good, the credential in it is not",
      try issuer.renewal(of: site.party("edge-0042"), credential: inner, tlsCertificate: certificate, at: now))
    let claims = RenewalClaims(
      issuer: issuer.party, subject: site.party("edge-0042"), issuedAt: now, credential: try site.keys(),
      tlsCertificate: certificate, issuerCredential: issuer.credential
    ).claims
    let rows: [(String, ClaimError.Code, String, JSON)] = [
      ("other-site", .conflict, "sub", claims.setting("sub", to: "urn:posture:site-b:edge-0042")),
      ("no-credential", .missing, "credential", claims.removing("credential")),
      ("no-certificate", .missing, "tls_certificate", claims.removing("tls_certificate")),
      ("no-issuer", .missing, "issuer", claims.removing("issuer")),
      ("iat-text", .type, "iat", claims.setting("iat", to: "now")),
    ]
    for (name, code, claim, claims) in rows {
      renewal(
        "claims-\(name)", .rejectClaim(ClaimError(code, claim)), why: "",
        try sign(.renewal, claims, VectorSite.key("issuer")))
    }
  }
}
