import Posture
@testable import PostureTokens

/// Trust documents: versions, issuers, roots, dates, and the list of revoked keys.
extension VectorBook {
  private mutating func trust(
    _ name: String, _ expect: Vector.Expectation, given: [String] = [Self.trust],
    clock: Moment = Moment(VectorSite.now), why: String, _ token: String
  ) {
    add("trust/\(name)", expect, .device, on: .trust, given: given, clock: clock, why: why, token)
  }

  mutating func addTrust() throws {
    try addVersions()
    try addIssuers()
    try addRoots()
    try addTrustClaims()
    try addRevokedLists()
  }

  private mutating func addVersions() throws {
    trust("newer", .accept, why: "a higher ver replaces", try site.trust(3))
    trust("older", .reject(.rollback), why: "a lower ver is refused for good", try site.trust(1))
    trust(
      "fork", .reject(.fork), why: "another document under the same ver",
      try site.trust(2, at: VectorSite.now - 3_599))
    trust("past-its-end", .accept, why: "newer, though past its exp", try site.trust(3, until: VectorSite.now - 1))
    trust(
      "future", .reject(.notYetValid), why: "iat lies ahead by more than 60 s",
      try site.trust(3, at: VectorSite.now + 61))
    trust("slightly-ahead", .accept, why: "clocks differ", try site.trust(3, at: VectorSite.now + 60))
    trust(
      "future-unsynced", .accept, clock: Moment(VectorSite.now, isTrusted: false),
      why: "where the clock is not trusted, iat tells the time",

      try site.trust(3, at: VectorSite.now + VectorSite.year / 2, until: VectorSite.now + VectorSite.year))
  }

  private mutating func addIssuers() throws {
    let now = VectorSite.now
    let root = site.root
    func issuer(
      _ name: String, key: String? = nil, of other: Root? = nil, site: String = "site-a", from: Int64 = now - 86_400,
      until: Int64 = now + VectorSite.year
    ) throws -> Issuer {
      try VectorSite.issuer(name, key: key, of: other ?? root, site: site, from: from, until: until)
    }
    trust(
      "second-issuer", .accept, why: "any issuer of the site, with rising ver",
      try site.trust(3, by: issuer("issuer-2")))
    trust(
      "other-site", .reject(.subject), why: "an issuer of another site",
      try issuer("issuer-2", site: "site-b").trust(version: 3, at: now, until: now + 86_400, authorized: []))
    trust("issuer-expired", .reject(.expired), why: "", try site.trust(3, by: issuer("issuer-2", until: now)))
    trust("issuer-not-yet", .reject(.notYetValid), why: "", try site.trust(3, by: issuer("issuer-2", from: now + 61)))
    trust(
      "issuer-revokes-itself", .reject(.revoked), why: "a document whose own issuer is taken back",
      try site.trust(3, revoked: [site.issuer.key.publicKey.kid]))
    var renamed = try issuer("issuer-2")
    renamed = Issuer(party: site.party("other"), key: renamed.key, credential: renamed.credential)
    trust(
      "iss-not-the-issuer", .reject(.issuer), why: "iss is another name than the credential's",
      try site.trust(3, by: renamed))
    let wrongKey = Issuer(party: site.issuer.party, key: VectorSite.key("stranger"), credential: site.issuer.credential)
    trust(
      "signed-by-another", .reject(.unknownKey), why: "the embedded credential is for another key",
      try site.trust(3, by: wrongKey))
    let device = Issuer(party: site.party("edge-0042"), key: site.deviceKey, credential: try site.keys())
    trust(
      "signed-by-a-device", .reject(.depth), why: "what is embedded has an issuer itself", try site.trust(3, by: device)
    )
    let selfMade = try VectorSite.issuer("issuer-2", of: Root(key: VectorSite.key("issuer-2")))
    trust("self-made-root", .reject(.unknownRoot), why: "", try site.trust(3, by: selfMade))
    let forged = site.issuer.credential.dropLast(4) + "AAAA"
    trust(
      "issuer-credential-forged", .reject(.signature), why: "the root's signature does not hold",
      try site.trust(3, by: Issuer(party: site.issuer.party, key: site.issuer.key, credential: String(forged))))
    trust(
      "issuer-credential-no-token", .reject(.notCompact), why: "",
      try site.trust(3, by: Issuer(party: site.issuer.party, key: site.issuer.key, credential: "x")))
    add(
      "trust/revoked-issuer", .reject(.revoked), .device, on: .trust,
      given: [Self.trust, "trust/revokes-second-issuer"],
      why: "an issuer that an earlier document took back",
      try site.trust(9, by: issuer("issuer-2")))
    trust(
      "revokes-second-issuer", .accept, why: "", try site.trust(3, revoked: [VectorSite.key("issuer-2").publicKey.kid]))
  }

  private mutating func addRoots() throws {
    let now = VectorSite.now
    let next = VectorSite.key("root-2")
    let third = VectorSite.key("root-3")
    let second = try VectorSite.issuer("issuer-2", of: Root(key: next))
    let thirdIssuer = try VectorSite.issuer("issuer-3", of: Root(key: third))
    func rotation(
      from root: Root, to key: FileKey, at: Int64 = now - 86_400, until: Int64 = now + VectorSite.year,
      previousUntil: Int64
    ) throws -> String {
      try root.rotation(to: key.publicKey.jwk, at: at, until: until, previousUntil: previousUntil)
    }
    let step = try rotation(from: site.root, to: next, previousUntil: now + 86_400)
    let over = try rotation(from: site.root, to: next, previousUntil: now - 1)
    let further = try rotation(from: Root(key: next), to: third, previousUntil: now + 86_400)
    let stranger = try rotation(from: Root(key: VectorSite.key("stranger")), to: next, previousUntil: now + 86_400)
    trust(
      "rotation", .accept, why: "the old root names the new one, which signs the issuer",
      try site.trust(3, by: second, rotations: [step]))
    trust(
      "rotation-old-still-good", .accept, why: "both are good until previous_until",
      try site.trust(3, rotations: [step]))
    trust(
      "rotation-twice", .accept, why: "who was away for long follows step by step",
      try site.trust(3, by: thirdIssuer, rotations: [step, further]))
    trust("rotation-missing", .reject(.unknownRoot), why: "nobody named the new root", try site.trust(3, by: second))
    trust(
      "rotation-gap", .reject(.unknownRoot), why: "the first step is missing",
      try site.trust(3, by: thirdIssuer, rotations: [further]))
    trust(
      "rotation-by-a-stranger", .reject(.unknownRoot), why: "", try site.trust(3, by: second, rotations: [stranger]))
    trust(
      "rotation-before-the-pin", .accept, why: "of a root that is not known here nothing is believed, nor needed",
      try site.trust(3, rotations: [stranger]))
    trust(
      "rotation-old-is-over", .reject(.expired), why: "the old root past previous_until",
      try site.trust(3, rotations: [over]))
    trust(
      "rotation-expired", .reject(.expired), why: "",
      try site.trust(
        3, by: second, rotations: [try rotation(from: site.root, to: next, until: now, previousUntil: now - 10)]))
    trust(
      "rotation-is-an-issuer", .reject(.role), why: "an issuer's credential is no root",
      try site.trust(3, by: second, rotations: [site.issuer.credential]))
    let root = Grant(subject: nil, role: .root, key: next.publicKey.jwk, notBefore: now - 10, expires: now + 1_000)
    let byIssuer = CredentialClaims(
      issuer: site.issuer.party, issuedAt: now, grant: root, issuerCredential: site.issuer.credential,
      previousUntil: now + 100)
    trust(
      "rotation-by-an-issuer", .rejectClaim(ClaimError(.conflict, "iss")), why: "only a root names a root",
      try site.trust(3, rotations: [try sign(.credential, byIssuer.claims, VectorSite.key("issuer"))]))
  }

  private mutating func addTrustClaims() throws {
    let issuerKey = VectorSite.key("issuer")
    let good = TrustClaims(
      issuer: site.issuer.party, version: 3, issuedAt: VectorSite.now, expires: VectorSite.now + 86_400,
      authorized: site.authorized, issuerCredential: site.issuer.credential
    ).claims
    let controller = site.authorized[0].claims
    let offCurve = controller.setting(
      "cnf", "jwk", "y", to: .string(Base64URL.encode([UInt8](repeating: 1, count: 32))))
    let rows: [(String, ClaimError.Code, String, JSON)] = [
      ("no-ver", .missing, "ver", good.removing("ver")), ("ver-zero", .range, "ver", good.setting("ver", to: 0)),
      ("ver-text", .type, "ver", good.setting("ver", to: "3")),
      ("no-exp", .missing, "exp", good.removing("exp")),
      ("exp-ten-years", .range, "exp", good.setting("exp", to: .integer(VectorSite.now + 10 * VectorSite.year))),
      ("exp-before-iat", .conflict, "exp", good.setting("exp", to: .integer(VectorSite.now - 1))),
      ("no-issuer", .missing, "issuer", good.removing("issuer")),
      ("authorized-object", .type, "authorized", good.setting("authorized", to: [:])),
      (
        "authorized-device", .value, "authorized.role",
        good.setting("authorized", to: [controller.setting("role", to: "device")])
      ),
      (
        "authorized-issuer", .value, "authorized.role",
        good.setting("authorized", to: [controller.setting("role", to: "issuer")])
      ),
      (
        "authorized-other-site", .conflict, "authorized.sub",
        good.setting("authorized", to: [controller.setting("sub", to: "urn:posture:site-b:controller")])
      ),
      (
        "authorized-many", .range, "authorized",
        good.setting("authorized", to: .array(Array(repeating: controller, count: 65)))
      ),
      ("kid-short", .range, "revoked_authorities", good.setting("revoked_authorities", to: ["abc"])),
      (
        "list-parts", .range, "revoked.parts",
        good.adding("revoked", ["ver": 1, "parts": 257, "digest": .string(SHA256.text(of: []))])
      ),
      ("list-digest", .range, "revoked.digest", good.adding("revoked", ["ver": 1, "parts": 1, "digest": "x"])),
    ]
    for (name, code, claim, claims) in rows {
      trust("claims-\(name)", .rejectClaim(ClaimError(code, claim)), why: "", try sign(.trust, claims, issuerKey))
    }
    trust(
      "off-curve", .reject(.key), why: "a controller's key that is no point of the curve",
      try sign(.trust, good.setting("authorized", to: [offCurve]), issuerKey))
  }

  private mutating func addRevokedLists() throws {
    let now = VectorSite.now
    let others = (0..<400).map { SHA256.text(of: [UInt8($0 & 255), UInt8($0 >> 8), 7]) }
    let (parts, list) = try site.issuer.revoked(others + [site.deviceKey.publicKey.kid], version: 4, at: now)
    let (forked, _) = try site.issuer.revoked(others, version: 4, at: now - 1)
    let (innocent, innocentList) = try site.issuer.revoked(others, version: 5, at: now)
    func add(
      _ name: String, _ expect: Vector.Expectation = .accept, part: Int? = nil, given: [String],
      standing: String? = nil, why: String, _ token: String
    ) {
      let place: Topic.Place = part.map { $0 == 0 ? .revoked : .revokedPart($0) } ?? .trust
      self.add("revoked/\(name)", expect, .monitor, on: place, given: given, standing: standing, why: why, token)
    }
    func report(_ name: String, given: [String], standing: String, clock: Moment = Moment(now), why: String) throws {
      self.add(
        "revoked/\(name)", .accept, .monitor, on: .report(site.device), given: given, clock: clock, standing: standing,
        why: why, try sign(.report, site.report()))
    }
    add("trust-with-list", given: [Self.trust], why: "names a list of two parts", try site.trust(3, list: list))
    add("trust-with-innocent-list", given: [Self.trust], why: "", try site.trust(4, list: innocentList))
    add("part-0", part: 0, given: [Self.trust], why: "the first part", parts[0])
    add("part-1", part: 1, given: [Self.trust], why: "the second part", parts[1])
    add("innocent-part-0", part: 0, given: [Self.trust], why: "", innocent[0])
    add("innocent-part-1", part: 1, given: [Self.trust], why: "", innocent[1])
    add("part-on-wrong-topic", .reject(.subject), part: 1, given: [Self.trust], why: "part 0 on revoked/1", parts[0])
    add("part-beyond", .reject(.subject), part: 7, given: [Self.trust], why: "", parts[1])
    add(
      "part-fork", .reject(.fork), part: 0, given: [Self.trust, "revoked/part-0"], why: "another part of the same ver",
      forked[0])
    let stranger = try VectorSite.issuer("issuer-2", of: Root(key: VectorSite.key("foreign-root")))
    add(
      "part-of-foreign-root", .awaitingRoot, part: 0, given: [Self.trust], why: "a root that nobody named yet",
      try stranger.revoked([], version: 9, at: now).tokens[0])
    add(
      "part-of-other-site", .reject(.subject), part: 0, given: [Self.trust], why: "",
      try VectorSite.issuer("issuer-2", of: site.root, site: "site-b").revoked([], version: 9, at: now).tokens[0])
    try report(
      "device", given: ["revoked/trust-with-list", Self.keys, "revoked/part-0", "revoked/part-1"], standing: "revoked",
      why: "the key is on the list")
    try report(
      "device-parts-first", given: ["revoked/part-1", "revoked/part-0", Self.keys, "revoked/trust-with-list"],
      standing: "revoked", why: "the same in another order")
    try report(
      "half-a-list", given: ["revoked/trust-with-list", Self.keys, "revoked/part-0"], standing: "revocationUnknown",
      why: "half a list says nothing")
    try report(
      "innocent",
      given: ["revoked/trust-with-innocent-list", Self.keys, "revoked/innocent-part-0", "revoked/innocent-part-1"],
      standing: "good", why: "a list without this key")
    try report(
      "list-of-another-version",
      given: ["revoked/trust-with-innocent-list", Self.keys, "revoked/part-0", "revoked/part-1"],
      standing: "revocationUnknown", why: "an old list instead of the named one")
    try report("trust-missing", given: [Self.keys], standing: "trustMissing", why: "no trust document yet")
    try report(
      "trust-stale", given: [Self.trust, Self.keys], standing: "trustStale", clock: Moment(now + 31 * 86_400),
      why: "past its end")
    self.add(
      "revoked/trust-revokes-issuer", .accept, .monitor, on: .trust, given: [], why: "",
      try site.trust(3, by: VectorSite.issuer("issuer-2", of: site.root), revoked: [site.issuer.key.publicKey.kid]))
    try report(
      "issuer", given: ["revoked/trust-revokes-issuer", Self.keys], standing: "revoked",
      why: "all that a revoked issuer vouched for")
    try report(
      "credential-expired", given: [Self.trust, Self.keys], standing: "expired", clock: Moment(now + VectorSite.year),
      why: "the credential is past its end")
  }
}
