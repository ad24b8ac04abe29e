import Posture
@testable import PostureTokens

/// Credentials on the `keys` topic, and requests for one.
extension VectorBook {
  private mutating func keys(
    _ name: String, _ expect: Vector.Expectation, given: [String] = [Self.trust], standing: String? = nil,
    why: String, _ token: String
  ) {
    add("keys/\(name)", expect, on: .keys(site.device), given: given, standing: standing, why: why, token)
  }

  mutating func addCredentials() throws {
    let now = VectorSite.now
    let issuer = site.issuer
    keys("expired", .accept, standing: "expired", why: "known, and no longer good", try site.keys(until: now))
    keys(
      "older-again", .accept, given: [Self.trust, Self.keys], standing: "good",
      why: "an older credential of the same key does not replace the newer one",
      try site.keys(at: now - 7_200, until: now - 1))
    keys("of-another-device", .reject(.subject), why: "edge-0043 on the topic of edge-0042", try site.keys("edge-0043"))
    for role in [Role.controller, .policy, .monitor] {
      keys("role-\(role.rawValue)", .reject(.role), why: "only devices have a keys topic", try site.keys(role: role))
    }
    keys("of-an-issuer", .reject(.role), why: "", issuer.credential)
    let second = Issuer(
      party: site.party("issuer-2"), key: VectorSite.key("issuer-2"),
      credential: try issuer.credential(site.grant("issuer-2", .monitor, VectorSite.key("issuer-2")), at: now))
    keys("depth-three", .reject(.depth), why: "root, issuer, another one, device", try site.keys(by: second))
    let foreign = try VectorSite.issuer("foreign-issuer", of: Root(key: VectorSite.key("foreign-root")))
    keys("foreign-root", .awaitingRoot, why: "a root that nobody named yet", try site.keys(by: foreign))
    let renamed = Issuer(party: site.party("other"), key: issuer.key, credential: issuer.credential)
    keys("iss-not-the-issuer", .reject(.issuer), why: "", try site.keys(by: renamed))
    let wrongKey = Issuer(party: issuer.party, key: VectorSite.key("stranger"), credential: issuer.credential)
    keys("signed-by-another", .reject(.unknownKey), why: "", try site.keys(by: wrongKey))
    let otherSite = try VectorSite.issuer("issuer-2", of: site.root, site: "site-b")
    keys("issuer-of-other-site", .rejectClaim(ClaimError(.conflict, "sub")), why: "", try site.keys(by: otherSite))
    try addCredentialClaims()
    try addRequests()
  }

  private mutating func addCredentialClaims() throws {
    let issuerKey = VectorSite.key("issuer")
    let claims = CredentialClaims(
      issuer: site.issuer.party, issuedAt: VectorSite.now, grant: site.grant("edge-0042", .device, site.deviceKey),
      issuerCredential: site.issuer.credential
    ).claims
    let jwk = site.deviceKey.publicKey.jwk.json
    let one = JSON.string(Base64URL.encode([UInt8](repeating: 1, count: 32)))
    func with(_ jwk: JSON) -> JSON { claims.setting("cnf", "jwk", to: jwk) }
    let rows: [(String, ClaimError.Code, String, JSON)] = [
      ("no-cnf", .missing, "cnf", claims.removing("cnf")),
      ("no-jwk", .missing, "cnf.jwk", claims.setting("cnf", to: [:])),
      ("jwk-curve", .value, "cnf.jwk.crv", with(jwk.setting("crv", to: "P-384"))),
      ("jwk-type", .value, "cnf.jwk.kty", with(jwk.setting("kty", to: "OKP"))),
      ("jwk-private", .forbidden, "cnf.jwk", with(jwk.adding("d", one))),
      ("jwk-kid", .forbidden, "cnf.jwk", with(jwk.adding("kid", "x"))),
      ("jwk-short", .range, "cnf.jwk.x", with(jwk.setting("x", to: "AQ"))),
      (
        "jwk-tail-bits", .value, "cnf.jwk.x",
        with(jwk.setting("x", to: .string(String(repeating: "A", count: 42) + "B")))
      ),
      ("no-nbf", .missing, "nbf", claims.removing("nbf")), ("no-exp", .missing, "exp", claims.removing("exp")),
      ("exp-before-nbf", .conflict, "exp", claims.setting("exp", to: .integer(VectorSite.now - 86_401))),
      ("exp-century", .range, "exp", claims.setting("exp", to: .integer(VectorSite.now + 100 * VectorSite.year))),
      ("role", .value, "role", claims.setting("role", to: "admin")),
      ("groups-text", .type, "groups", claims.setting("groups", to: "lathe")),
      ("groups-wildcard", .value, "groups", claims.setting("groups", to: ["+"])),
      ("groups-twice", .value, "groups", claims.setting("groups", to: ["lathe", "lathe"])),
      ("groups-many", .range, "groups", claims.setting("groups", to: .array((0..<33).map { .string("g\($0)") }))),
      ("no-issuer", .missing, "issuer", claims.removing("issuer")),
      ("sub-root", .conflict, "role", claims.setting("sub", to: "urn:posture:root")),
      ("iss-root", .conflict, "iss", claims.setting("iss", to: "urn:posture:root")),
      ("key-protection", .missing, "key_protection", claims.removing("key_protection")),
    ]
    for (name, code, claim, claims) in rows {
      keys("claims-\(name)", .rejectClaim(ClaimError(code, claim)), why: "", try sign(.credential, claims, issuerKey))
    }
    keys(
      "off-curve", .reject(.key), why: "no point of the curve",
      try sign(.credential, with(jwk.setting("y", to: one)), issuerKey))
    let zero = JSON.string(Base64URL.encode([UInt8](repeating: 0, count: 32)))
    keys(
      "point-zero", .reject(.key), why: "(0, 0) is no point of the curve",
      try sign(.credential, with(jwk.setting("x", to: zero).setting("y", to: zero)), issuerKey))
    let ones = JSON.string(Base64URL.encode([UInt8](repeating: 255, count: 32)))
    keys(
      "coordinate-above-p", .reject(.key), why: "a coordinate has to be below p",
      try sign(.credential, with(jwk.setting("x", to: ones)), issuerKey))
  }

  private mutating func addRequests() throws {
    let good = try site.request()
    func add(_ name: String, _ expect: Vector.Expectation, why: String = "", _ claims: JSON, _ key: FileKey? = nil)
      throws
    {
      self.add(
        "request/\(name)", expect, .enrolment, topic: "-", given: [], why: why,
        Array(try sign(.request, claims, key).utf8))
    }
    try add(
      "other-key", .reject(.unknownKey), why: "signed by another key than it names", good.claims,
      VectorSite.key("stranger"))
    try add(
      "role-issuer", .rejectClaim(ClaimError(.value, "role")), why: "only the root makes issuers",
      good.claims.setting("role", to: "issuer"))
    try add("name", .rejectClaim(ClaimError(.value, "name")), good.claims.setting("name", to: "../edge"))
    try add("tls-request", .rejectClaim(ClaimError(.value, "tls_request")), good.claims.setting("tls_request", to: "+"))
    try add("no-cnf", .rejectClaim(ClaimError(.missing, "cnf")), good.claims.removing("cnf"))
  }
}
