import Posture
@testable import PostureTokens

/// Who may say what, and where: key, issuer, role, site, group and topic have to agree.
extension VectorBook {
  mutating func addSigners() throws {
    try addDeviceMessages()
    try addCommands()
    try addPolicies()
  }

  private mutating func addDeviceMessages() throws {
    let edge = site.device
    let other = VectorSite.key("device-2")
    let report = site.report()
    add(
      "signer/unknown-key", .awaitingKey, on: .report(edge), given: [Self.trust], standing: "awaitingKey",
      why: "the credential may be on its way", try sign(.report, report))
    add(
      "signer/keys-of-another-device", .accept, topic: Topic(site.name, .keys(Name("edge-0043")!)).text, given: [],
      why: "", Array(try site.keys("edge-0043", key: other).utf8))
    add(
      "signer/another-device", .reject(.subject), on: .report(edge),
      given: [Self.trust, Self.keys, "signer/keys-of-another-device"],
      why: "edge-0043 writes to the topic of edge-0042",
      try sign(.report, report, other))
    add(
      "signer/another-topic", .reject(.subject), on: .report(Name("edge-0043")!), why: "a report carried elsewhere",
      try sign(.report, report))
    let iss = report.setting("iss", to: "urn:posture:site-a:edge-0043")
    add(
      "signer/iss", .reject(.issuer), on: .report(edge), why: "iss is not whom the key belongs to",
      try sign(.report, iss))
    add(
      "signer/iss-other-site", .reject(.issuer), on: .report(edge), why: "",
      try sign(.report, report.setting("iss", to: "urn:posture:site-b:edge-0042")))
    add(
      "signer/controller-reports", .awaitingKey, on: .report(edge), why: "a controller has no keys topic",
      try sign(.report, report, site.controller))
  }

  private mutating func command(
    _ name: String, _ expect: Vector.Expectation, on topic: Topic.Place? = nil, given: [String] = [Self.trust],
    clock: Moment = Moment(VectorSite.now), standing: String? = nil, why: String, _ claims: JSON, _ key: FileKey
  ) throws {
    add(
      "command/\(name)", expect, .device, on: topic ?? .recheckDevice(site.device), given: given, clock: clock,
      standing: standing, why: why, try sign(.command, claims, key))
  }

  private mutating func addCommands() throws {
    let good = site.command()
    let controller = site.controller
    let group = Audience.group(site: site.name, site.lathe)
    try command("stranger", .reject(.unknownKey), why: "a key that no document names", good, VectorSite.key("stranger"))
    try command("before-trust", .reject(.unknownKey), given: [], why: "no trust document yet", good, controller)
    try command("from-a-device", .reject(.unknownKey), why: "devices command nobody", good, site.deviceKey)
    try command("from-a-policy-signer", .reject(.role), why: "", site.command(by: "policy"), site.policySigner)
    try command(
      "from-the-root", .reject(.unknownKey), why: "the root signs issuers, not commands", good, VectorSite.key("root"))
    try command("iss", .reject(.issuer), why: "iss is another controller", site.command(by: "policy"), controller)
    try command(
      "for-another-device", .reject(.subject), why: "carried to this device's topic",
      site.command(.device(site.party("edge-0043"))), controller)
    try command(
      "on-anothers-topic", .reject(.audience), on: .recheckDevice(Name("edge-0043")!), why: "not for this device",
      site.command(.device(site.party("edge-0043"))), controller)
    try command("group-on-device-topic", .reject(.subject), why: "", site.command(group), controller)
    try command("device-on-all-topic", .reject(.subject), on: .recheckAll, why: "", good, controller)
    try command(
      "group-of-others", .reject(.audience), on: .recheckGroup(Name("press")!), why: "this device is not in the group",
      site.command(.group(site: site.name, Name("press")!)), controller)
    let limited = VectorSite.key("lathe-controller")
    try command(
      "limited-controller", .reject(.audience), why: "a controller of another group",
      site.command(by: "lathe-controller"),
      limited)
    try command(
      "limited-controller-group", .reject(.audience), on: .recheckGroup(site.lathe), why: "",
      site.command(group, by: "lathe-controller"), limited)
    try command(
      "limited-controller-all", .reject(.audience), on: .recheckAll, why: "",
      site.command(.site(site.name), by: "lathe-controller"), limited)
    let now = VectorSite.now
    add(
      "command/trust-revokes-controller", .accept, .device, on: .trust, given: [Self.trust], why: "",
      try site.trust(3, revoked: [controller.publicKey.kid]))
    try command(
      "revoked-controller", .reject(.revoked), given: [Self.trust, "command/trust-revokes-controller"], why: "", good,
      controller)
    add(
      "command/trust-without-controller", .accept, .device, on: .trust, given: [Self.trust], why: "",
      try site.trust(3, authorized: []))
    try command(
      "removed-controller", .reject(.unknownKey), given: [Self.trust, "command/trust-without-controller"],
      why: "no longer in the document", good, controller)
    add(
      "command/trust-expired-controller", .accept, .device, on: .trust, given: [Self.trust], why: "",
      try site.trust(3, authorized: [site.grant("controller", .controller, controller, until: now)]))
    try command(
      "expired-controller", .reject(.expired), given: [Self.trust, "command/trust-expired-controller"], why: "", good,
      controller)
    add(
      "command/trust-future-controller", .accept, .device, on: .trust, given: [Self.trust], why: "",
      try site.trust(3, authorized: [site.grant("controller", .controller, controller, from: now + 61)]))
    try command(
      "future-controller", .reject(.notYetValid), given: [Self.trust, "command/trust-future-controller"], why: "", good,
      controller)
    try command(
      "future-controller-unsynced", .accept, given: [Self.trust, "command/trust-future-controller"],
      clock: Moment(now, isTrusted: false), why: "a clock that is not trusted cannot tell", good, controller)
    try command(
      "trust-expired", .accept, clock: Moment(now + 31 * 86_400), standing: "trustExpired",
      why: "well signed; the gate refuses it with trustExpired", good, controller)
    try command(
      "long-life", .accept, why: "well signed; the gate refuses it with tooLong",
      good.setting("exp", to: .integer(now + 3_600)), controller)
    try command(
      "expired", .accept, clock: Moment(now + 600), why: "well signed; the gate refuses it with expired", good,
      controller)
  }

  private mutating func addPolicies() throws {
    func policy(
      _ name: String, _ expect: Vector.Expectation, on topic: Topic.Place = .policy,
      clock: Moment = Moment(VectorSite.now), why: String, _ claims: JSON, _ key: FileKey
    ) throws {
      add(
        "policy/\(name)", expect, .device, on: topic, given: [Self.trust], clock: clock, why: why,
        try sign(.policy, claims, key))
    }
    let root = VectorSite.key("root")
    try policy("from-a-controller", .reject(.role), why: "", site.policy(by: site.party("controller")), site.controller)
    try policy("from-a-device", .reject(.unknownKey), why: "", site.policy(by: site.party("edge-0042")), site.deviceKey)
    try policy(
      "from-an-issuer", .reject(.unknownKey), why: "", site.policy(by: site.party("issuer")), VectorSite.key("issuer"))
    try policy(
      "iss-root", .reject(.issuer), why: "a signer who calls himself the root", site.policy(root: true),
      site.policySigner)
    try policy("root-iss", .reject(.issuer), why: "the root under another name", site.policy(), root)
    try policy("iss", .reject(.issuer), why: "", site.policy(by: site.party("other")), site.policySigner)
    try policy(
      "group-on-site-topic", .reject(.subject), why: "", site.policy(.group(site: site.name, site.lathe)),
      site.policySigner)
    try policy(
      "site-on-group-topic", .reject(.subject), on: .groupPolicy(site.lathe), why: "", site.policy(), site.policySigner)
    try policy(
      "group-of-others", .reject(.audience), on: .groupPolicy(Name("press")!), why: "",
      site.policy(.group(site: site.name, Name("press")!)), site.policySigner)
    try policy(
      "expired", .reject(.expired), why: "", site.policy().adding("exp", .integer(VectorSite.now)), site.policySigner)
    try policy(
      "future", .reject(.notYetValid), why: "", site.policy().setting("iat", to: .integer(VectorSite.now + 61)),
      site.policySigner)
  }
}
