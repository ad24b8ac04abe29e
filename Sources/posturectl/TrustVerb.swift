import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal
import PostureTokens

/// `posturectl trust`: whom the site obeys and believes.
struct TrustVerb: Verb {
  static let name = "trust"
  static let summary = "show, renew, publish the trust document; revoke keys"
  static let help = """
    usage: posturectl trust show [--json] [--home DIR]
           posturectl trust publish [--home DIR]
           posturectl trust renew [--days N] [--no-publish] [--home DIR]
           posturectl trust revoke NAME|KID [--no-publish] [--home DIR]
           posturectl trust revoke KID --issuer [--no-publish] [--home DIR]

    The trust document lists the controllers and policy signers that devices obey, and which keys are no longer good. It
    ends: from then on agents refuse commands and monitors show trustStale. Each change has a higher number; a lower one is
    refused by everybody who saw it. The issuer's key is enough for all of this; the root's may be elsewhere.

      show      what it says and when it ends; exit status 1 when less than a third of its life is left, or of that of
                the key of a signer
      publish   bring it to the broker (retained)
      renew     sign the next one, for --days N (default: as before), and publish it
      revoke    take back a device, controller or policy signer by its name or kid; with --issuer an issuer by its kid,
                and with it all that it signed: no list names issuers, so any kid is taken
    """

  private enum Action {
    case show(json: Bool)
    case publish
    case renew(Int64?, publishes: Bool)
    case revoke(String, isIssuer: Bool, publishes: Bool)
  }

  private let home: HomeOption
  private let action: Action

  init(_ arguments: inout Arguments) throws(UsageError) {
    let word = arguments.verb()
    home = try HomeOption(&arguments)
    switch word {
    case "show": action = .show(json: arguments.flag("--json"))
    case "publish": action = .publish
    case "renew": action = .renew(try arguments.days("--days"), publishes: !arguments.flag("--no-publish"))
    case "revoke":
      let (publishes, isIssuer) = (!arguments.flag("--no-publish"), arguments.flag("--issuer"))
      action = .revoke(try arguments.rest(1...1, "a name or kid")[0], isIssuer: isIssuer, publishes: publishes)
    case let word?: throw UsageError("trust \(word): not one of show, publish, renew, revoke")
    case nil: throw UsageError("trust: one of show, publish, renew, revoke is missing")
    }
    try arguments.end()
  }

  func run() throws -> Int32 {
    var desk = try IssuerDesk(home.open())
    let now = Clock.wall
    switch action {
    case .show(let isJSON): return try TrustView(desk, at: now).show(json: isJSON)
    case .publish: try publish(&desk)
    case .renew(let life, let publishes):
      try desk.renew(at: now, life: life)
      Terminal.out("trust document \(desk.state.version) is good until \(Timestamp.text(now + desk.state.life))")
      if publishes { try publish(&desk) }
    case .revoke(let who, let isIssuer, let publishes):
      let revocations = try isIssuer ? [desk.revokeIssuer(who, at: now)] : desk.revoke(who, at: now)
      for revocation in revocations { Terminal.out("revoked: \(revocation.text)") }
      if publishes { try publish(&desk) }
    }
    return 0
  }

  private func publish(_ desk: inout IssuerDesk) throws {
    try desk.publish()
    Terminal.out("published: trust document \(desk.state.version)")
  }
}

extension IssuerDesk.Revocation {
  var text: String {
    switch self {
    case .device(let name, let kid): "device \(name), key \(kid)"
    case .authority(let name, let kid): "\(name), key \(kid)"
    }
  }
}

/// The state of a site's trust, printed.
struct TrustView {
  private let desk: IssuerDesk
  private let now: Int64

  init(_ desk: IssuerDesk, at now: Int64) {
    self.desk = desk
    self.now = now
  }

  func show(json isJSON: Bool) throws -> Int32 {
    let store = try desk.store(at: now)
    guard let claims = store.current else { throw HomeError(.missing, "no trust document: run posturectl trust renew") }
    let needsRenewal = store.needsRenewal(at: Moment(now))
    let ending = try desk.signers(at: now).filter { $0.needsRotation(at: now) }
    if isJSON {
      Terminal.out(json(claims, needsRenewal, ending).text)
    } else {
      print(claims, needsRenewal)
      for signer in ending {
        Terminal.out(
          Terminal.paint(
            "\(signer.role.rawValue) \(signer.kid) ends \(Timestamp.text(signer.until)): posturectl rotate \(signer.role.rawValue)",
            .yellow))
      }
    }
    return needsRenewal || !ending.isEmpty ? 1 : 0
  }

  private func print(_ claims: TrustClaims, _ needsRenewal: Bool) {
    let left = claims.expires - now
    Terminal.out("site      \(desk.home.site)")
    Terminal.out("version   \(claims.version), signed \(Timestamp.text(claims.issuedAt))")
    Terminal.out(
      "ends      \(Timestamp.text(claims.expires)) (\(left > 0 ? "in \(Span.text(left))" : "expired"))")
    for grant in claims.authorized {
      Terminal.out(
        "obeys     \(grant.role.rawValue) \(grant.subject?.name.description ?? "root"), key \(PublicKey.thumbprint(of: grant.key)), "
          + "until \(Timestamp.text(grant.expires))")
    }
    for kid in claims.revokedAuthorities { Terminal.out("revoked   authority \(kid)") }
    for key in desk.state.revokedKeys { Terminal.out("revoked   device \(key.name), key \(key.kid)") }
    if needsRenewal {
      Terminal.out(
        Terminal.paint("renew it now: less than a third of its life is left (posturectl trust renew)", .yellow))
    }
  }

  private func json(_ claims: TrustClaims, _ needsRenewal: Bool, _ ending: [Signer]) -> JSON {
    [
      "site": .string(desk.home.site.description), "version": .integer(claims.version),
      "issued": .integer(claims.issuedAt), "expires": .integer(claims.expires), "needsRenewal": .bool(needsRenewal),
      "needsRotation": .array(ending.map { .string($0.kid) }),
      "authorized": .array(
        claims.authorized.map { grant in
          [
            "role": .string(grant.role.rawValue), "subject": .text(grant.subject?.urn),
            "kid": .string(PublicKey.thumbprint(of: grant.key)), "expires": .integer(grant.expires),
          ]
        }),
      "revokedAuthorities": .array(claims.revokedAuthorities.map(JSON.string)),
      "revokedDevices": .array(
        desk.state.revokedKeys.map { ["device": .string($0.name), "kid": .string($0.kid)] }),
    ]
  }
}
