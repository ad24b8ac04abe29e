import Posture
@testable import PostureTokens

/// All vectors, made anew from the committed test keys. Chapters fill it one after the other.
struct VectorBook {
  let site: VectorSite
  private(set) var vectors: [Vector] = []

  static let trust = "accept/trust"
  static let keys = "accept/keys"

  init() throws {
    site = try VectorSite()
    try addAccepted()
    try addShapes()
    try addClaims()
    try addTopics()
    try addTrust()
    try addCredentials()
    try addRenewals()
    try addSigners()
  }

  mutating func add(
    _ name: String, _ expect: Vector.Expectation, _ receiver: Vector.Receiver = .monitor, on place: Topic.Place,
    given: [String] = [trust, keys], clock: Moment = Moment(VectorSite.now), standing: String? = nil,
    key: FileKey? = nil, why: String, _ body: String
  ) {
    add(
      name, expect, receiver, topic: Topic(site.name, place).text, given: given, clock: clock, standing: standing,
      key: key, why: why, Array(body.utf8))
  }

  mutating func add(
    _ name: String, _ expect: Vector.Expectation, _ receiver: Vector.Receiver = .monitor, topic: String,
    given: [String] = [trust, keys], clock: Moment = Moment(VectorSite.now), standing: String? = nil,
    key: FileKey? = nil, why: String, _ body: [UInt8]
  ) {
    precondition(!vectors.contains { $0.name == name }, "two vectors are named \(name)")
    vectors.append(
      Vector(
        name: name, expect: expect, receiver: receiver, topic: topic, given: given, clock: clock, standing: standing,
        key: key?.publicKey.jwk.json, why: why, body: body))
  }

  // MARK: Signing

  func sign(_ kind: TokenKind, _ claims: JSON, _ key: FileKey? = nil) throws -> String {
    let key = key ?? site.deviceKey
    return try sign(header: header(key, kind), payload: claims.bytes, key)
  }

  /// Any header and payload under a good signature.
  func sign(header: String? = nil, payload: [UInt8], _ key: FileKey? = nil) throws -> String {
    let key = key ?? site.deviceKey
    return try TokenEncoder.encode(header: Array((header ?? self.header(key)).utf8), payload: payload, with: key)
  }

  func header(_ key: FileKey, _ kind: TokenKind = .presence) -> String {
    #"{"alg":"ES256","typ":"\#(kind.rawValue)","kid":"\#(key.publicKey.kid)"}"#
  }

  // MARK: What is accepted

  private mutating func addAccepted() throws {
    let edge = site.device
    let onDevice = [Self.trust]
    add(
      Self.trust, .accept, on: .trust, given: [], key: VectorSite.key("issuer"),
      why: "root, issuer, document: two controllers and a policy signer", try site.trust())
    add(
      Self.keys, .accept, on: .keys(edge), given: [Self.trust], standing: "good", key: VectorSite.key("issuer"),
      why: "a device's credential", try site.keys())
    add(
      "accept/report", .accept, on: .report(edge), standing: "good", key: site.deviceKey, why: "a report",
      try sign(.report, site.report()))
    add(
      "accept/report-unsynced", .accept, on: .report(edge), key: site.deviceKey,
      why: "a clock that is not trusted: no exp",
      try sign(
        .report,
        site.report {
          $0.clock = .unsynced
          $0.expires = nil
        }))
    add(
      "accept/report-two-nonces", .accept, on: .reply(edge), key: site.deviceKey, why: "one run for two askers",
      try sign(.report, site.report { $0.nonces.append("Zw0dB6n2cRj5yE8uX1aFqg") }))
    add(
      "accept/report-chain", .accept, on: .report(edge), key: site.deviceKey, why: "the head of the chain of events",
      try sign(
        .report,
        site.report {
          $0.chain = .init(chain: "Vw3x0cP8aT2k", number: 7, digest: SHA256.text(of: [7]))
          $0.machine = "m2Vx0cP8aT2k"
          $0.watch = .partial
          $0.oemID = 32_473
        }))
    add(
      "accept/report-unknown-claim", .accept, on: .report(edge), key: site.deviceKey,
      why: "a claim of a later version is passed over",
      try sign(.report, site.report().adding("weather", "rain")))
    let events: [(String, JSON)] = [
      ("event-start", site.event(.start(.enrolled))),
      ("event-change", site.event(VectorSite.change, number: 2, previous: SHA256.text(of: [1]))),
      (
        "event-gap",
        site.event(.gap(first: 3, head: SHA256.text(of: [9])), number: 9, previous: SHA256.text(of: [2]))
      ),
    ]
    for (name, claims) in events {
      add(
        "accept/\(name)", .accept, on: .event(edge), key: site.deviceKey, why: "a link of the chain",
        try sign(.event, claims))
    }
    for state in PresenceClaims.State.allCases {
      add(
        "accept/presence-\(state.rawValue)", .accept, on: .presence(edge), key: site.deviceKey,
        why: state == .online ? "birth" : "will", try sign(.presence, site.presence(state)))
    }
    add(
      "accept/progress", .accept, on: .reply(edge), key: site.deviceKey, why: "an answer under way",
      try sign(.progress, site.progress()))
    add(
      "accept/refusal", .accept, on: .reply(edge), key: site.deviceKey, why: "a command that is not obeyed",
      try sign(.refusal, site.refusal()))
    let audiences: [(String, Audience)] = [
      ("device", .device(site.party("edge-0042"))), ("group", .group(site: site.name, site.lathe)),
      ("all", .site(site.name)),
    ]
    for (name, audience) in audiences {
      add(
        "accept/command-\(name)", .accept, .device, topic: audience.recheckTopic.text, given: onDevice,
        key: site.controller, why: "a recheck", Array(try sign(.command, site.command(audience), site.controller).utf8))
    }
    add(
      "accept/policy-site", .accept, .device, on: .policy, given: onDevice, key: site.policySigner, why: "of the site",
      try sign(.policy, site.policy(), site.policySigner))
    add(
      "accept/policy-group", .accept, .device, on: .groupPolicy(site.lathe), given: onDevice, key: site.policySigner,
      why: "of the device's group",
      try sign(.policy, site.policy(.group(site: site.name, site.lathe)), site.policySigner))
    add(
      "accept/policy-root", .accept, .device, on: .policy, given: onDevice, key: VectorSite.key("root"),
      why: "the root may demand less than the floor",
      try sign(.policy, site.policy(root: true), VectorSite.key("root")))
    let (tokens, _) = try site.issuer.revoked([], version: 1, at: VectorSite.now)
    add(
      "accept/revoked-empty", .accept, on: .revoked, key: VectorSite.key("issuer"), why: "nobody is revoked", tokens[0])
    add(
      "accept/renewal", .accept, .device, on: .renewal(edge), key: VectorSite.key("issuer"),
      why: "a newer credential for the same key", try site.renewal())
    add(
      "accept/request", .accept, .enrolment, topic: "-", given: [], key: site.deviceKey,
      why: "signed by the key that it names", Array(try sign(.request, site.request().claims).utf8))
  }
}

extension JSON {
  /// With one more member.
  func adding(_ name: String, _ value: JSON) -> JSON { .object((members ?? []) + [Member(name, value)]) }

  /// Without the member.
  func removing(_ name: String) -> JSON { .object((members ?? []).filter { $0.name != name }) }

  /// With another value for the member at this path.
  func setting(_ path: String..., to value: JSON) -> JSON { setting(path[...], to: value) }

  func setting(_ path: ArraySlice<String>, to value: JSON) -> JSON {
    guard let name = path.first else { return value }
    var members = members ?? []
    if let at = members.firstIndex(where: { $0.name == name }) {
      members[at].value = members[at].value.setting(path.dropFirst(), to: value)
    } else {
      members.append(Member(name, value))
    }
    return .object(members)
  }
}
