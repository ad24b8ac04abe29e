import Posture
@testable import PostureTokens

/// Well signed, and yet not the claims of its kind.
extension VectorBook {
  /// A kind with good claims, and where it belongs.
  private struct Sample {
    let name: String
    let kind: TokenKind
    let claims: JSON
    let topic: Topic.Place
    let key: FileKey
    var receiver = Vector.Receiver.monitor
    /// Claims whose absence is not an error, or is another one.
    var optional: [String] = []
  }

  private func samples() throws -> [Sample] {
    let edge = site.device
    return [
      Sample(
        name: "report", kind: .report, claims: site.report(), topic: .report(edge), key: site.deviceKey,
        optional: ["exp", "eat_nonce", "bootcount"]),
      Sample(
        name: "presence", kind: .presence, claims: site.presence(), topic: .presence(edge), key: site.deviceKey),
      Sample(
        name: "event", kind: .event, claims: site.event(.start(.enrolled)), topic: .event(edge), key: site.deviceKey),
      Sample(name: "progress", kind: .progress, claims: site.progress(), topic: .reply(edge), key: site.deviceKey),
      Sample(name: "refusal", kind: .refusal, claims: site.refusal(), topic: .reply(edge), key: site.deviceKey),
      Sample(
        name: "command", kind: .command, claims: site.command(), topic: .recheckDevice(edge), key: site.controller,
        receiver: .device),
      Sample(
        name: "policy", kind: .policy, claims: site.policy(), topic: .policy, key: site.policySigner,
        receiver: .device),
    ]
  }

  private mutating func claim(
    _ name: String, _ code: ClaimError.Code, _ claim: String, why: String = "", _ sample: Sample, _ claims: JSON
  ) throws {
    add(
      "claims/\(sample.name)-\(name)", .rejectClaim(ClaimError(code, claim)), sample.receiver, on: sample.topic,
      given: sample.receiver == .device ? [Self.trust] : [Self.trust, Self.keys], why: why,
      try sign(sample.kind, claims, sample.key))
  }

  mutating func addClaims() throws {
    for sample in try samples() {
      for member in sample.claims.members ?? [] where !sample.optional.contains(member.name) {
        try claim("no-\(member.name)", .missing, member.name, sample, sample.claims.removing(member.name))
      }
      for member in sample.claims.members ?? [] where member.value.integer != nil {
        try claim(
          "\(member.name)-text", .type, member.name, why: "a string where an integer belongs", sample,
          sample.claims.setting(member.name, to: .string(member.value.text)))
      }
      try claim("iat-bool", .type, "iat", sample, sample.claims.setting("iat", to: true))
      try claim(
        "iat-zero", .range, "iat", why: "a clock that was never set", sample, sample.claims.setting("iat", to: 0))
      try claim("iat-negative", .range, "iat", sample, sample.claims.setting("iat", to: -1))
      try claim("iat-max", .range, "iat", why: "2^63 - 1", sample, sample.claims.setting("iat", to: .integer(.max)))
      try claim("iss-no-urn", .value, "iss", sample, sample.claims.setting("iss", to: "edge-0042"))
      try claim(
        "iss-nul", .value, "iss", why: "a NUL inside", sample,
        sample.claims.setting("iss", to: "urn:posture:site-a:edge-0042\0"))
      try claim(
        "iss-upper-case", .value, "iss", why: "a twin of the device's name", sample,
        sample.claims.setting("iss", to: "urn:posture:site-a:EDGE-0042"))
      try claim("empty", .missing, firstAsked(sample.kind), why: "no claims at all", sample, .object([]))
    }
    try addReportClaims()
    try addOtherClaims()
  }

  private func firstAsked(_ kind: TokenKind) -> String {
    switch kind {
    case .report: "eat_profile"
    case .command: "cmd"
    default: "iss"
    }
  }

  private mutating func addReportClaims() throws {
    let sample = try samples()[0]
    let good = sample.claims
    let now = VectorSite.now
    let rows: [(String, ClaimError.Code, String, String, JSON)] = [
      (
        "profile", .value, "eat_profile", "another profile",
        good.setting("eat_profile", to: "tag:posture.example,2026:eat:2")
      ),
      ("nonce-jwt", .forbidden, "nonce", "RFC 9711 excludes JWT's nonce", good.adding("nonce", "kq3rT0v1zB8w5mXh")),
      ("submods", .forbidden, "submods", "no tokens within tokens", good.adding("submods", [:])),
      ("exp-before-iat", .conflict, "exp", "", good.setting("exp", to: .integer(now - 61))),
      ("exp-equals-iat", .conflict, "exp", "", good.setting("exp", to: .integer(now - 60))),
      (
        "exp-ten-years", .range, "exp", "31 days at most", good.setting("exp", to: .integer(now + 10 * VectorSite.year))
      ),
      (
        "exp-unsynced", .conflict, "exp", "a clock that is not trusted sets no end", good.setting("clk", to: "unsynced")
      ),
      ("clk", .value, "clk", "", good.setting("clk", to: "perhaps")),
      ("nonce-short", .range, "eat_nonce", "8 characters at least", good.setting("eat_nonce", to: "1234567")),
      (
        "nonce-long", .range, "eat_nonce", "88 characters at most",
        good.setting("eat_nonce", to: .string(String(repeating: "n", count: 89)))
      ),
      ("nonce-number", .range, "eat_nonce", "", good.setting("eat_nonce", to: ["12345678"])),
      ("nonce-mixed", .type, "eat_nonce", "", good.setting("eat_nonce", to: ["12345678", 12_345_678])),
      (
        "nonce-thousands", .range, "eat_nonce", "",
        good.setting("eat_nonce", to: .array(Array(repeating: "12345678", count: 2_000)))
      ),
      ("ueid-short", .range, "ueid", "", good.setting("ueid", to: "AX88mhviX")),
      ("ueid-alphabet", .value, "ueid", "", good.setting("ueid", to: "AX88mhviXUQIpsHQ6Ut3E+I")),
      ("seq-negative", .range, "seq", "", good.setting("seq", to: -1)),
      ("uptime-negative", .range, "uptime", "", good.setting("uptime", to: -1)),
      ("swname", .value, "swname", "", good.setting("swname", to: "other")),
      ("swversion-text", .type, "swversion", "EAT has a list here", good.setting("swversion", to: "1.0.0")),
      ("oemid-text", .type, "oemid", "", good.setting("oemid", to: "32473")),
      ("cause", .value, "cause", "", good.setting("cause", to: "boredom")),
      ("key-protection", .value, "key_protection", "", good.setting("key_protection", to: "vault")),
      ("verdict", .value, "verdict", "", good.setting("verdict", to: "success")),
      ("verdict-contradicts-evidence", .conflict, "evidence", "", good.setting("verdict", to: "fail")),
      ("policy-digest", .range, "policy.digest", "", good.setting("policy", "digest", to: "abc")),
      ("policy-contradicts-evidence", .conflict, "evidence", "", good.setting("policy", "name", to: "hardened")),
      (
        "chain-head", .missing, "chain.head", "after the first event there is a head",
        good.setting("chain", "eseq", to: 3)
      ),
      ("chain-text", .type, "chain", "", good.setting("chain", to: "Vw3x0cP8aT2k")),
      ("measres-empty", .value, "measres", "", good.setting("measres", to: [])),
      ("measres-no-rows", .value, "measres", "", good.setting("measres", to: [["posture/1", []]])),
      (
        "measres-system", .value, "measres", "", good.setting("measres", to: [["other/1", [["passcode", "success"]]]])
      ),
      ("measres-word", .value, "measres", "", good.setting("measres", to: [["posture/1", [["passcode", "ok"]]]])),
      (
        "measres-few", .missing, "measres", "each check, once",
        good.setting("measres", to: [["posture/1", [["passcode", "success"]]]])
      ),
      (
        "measres-twice", .conflict, "measres", "",
        good.setting("measres", to: [["posture/1", [["passcode", "success"], ["passcode", "fail"]]]])
      ),
      (
        "measres-many", .value, "measres", "",
        good.setting("measres", to: [["posture/1", .array(Array(repeating: ["passcode", "success"], count: 65))]])
      ),
      (
        "measres-contradicts-evidence", .conflict, "measres", "",
        good.setting("measres", to: Self.turned(good["measres"]!))
      ),
      (
        "evidence-no-checks", .conflict, "evidence", "",
        good.setting("evidence", to: good["evidence"]!.removing("checks"))
      ),
      (
        "evidence-required-text", .type, "evidence", "",
        good.setting("evidence", "checks", to: [["check": "passcode", "result": "absent", "required": "no"]])
      ),
      ("evidence-few-checks", .conflict, "measres", "", good.setting("evidence", "checks", to: [])),
    ]
    for (name, code, claim, why, claims) in rows { try self.claim(name, code, claim, why: why, sample, claims) }
    let passed = good.setting("verdict", to: "pass").setting("evidence", "verdict", to: "pass")
    try claim(
      "verdict-contradicts-checks", .conflict, "verdict", why: "pass, though a required check failed", sample,
      Self.failed(passed))
    add(
      "shape/report-many-checks", .reject(.tooLarge), on: .report(site.device), why: "larger than any report",
      try sign(
        .report,
        good.setting(
          "measres", to: [["posture/1", .array(Array(repeating: ["passcode", "success"], count: 2_000))]])))
  }

  /// The first row says something else.
  private static func turned(_ measres: JSON) -> JSON {
    var rows = measres.array![0].array![1].array!
    let row = rows[0].array!
    rows[0] = [row[0], row[1].string == "fail" ? "success" : "fail"]
    return [["posture/1", .array(rows)]]
  }

  /// With the required check failed in both places, but not in the verdict.
  private static func failed(_ claims: JSON) -> JSON {
    let name = "owner-authentication"
    let rows = claims["measres"]!.array![0].array![1].array!.map { row -> JSON in
      row.array![0].string == name ? [row.array![0], "fail"] : row
    }
    let checks = claims["evidence"]!["checks"]!.array!.map { row in
      row["check"]?.string == name ? row.setting("result", to: "fail") : row
    }
    return claims.setting("measres", to: [["posture/1", .array(rows)]]).setting(
      "evidence", "checks", to: .array(checks))
  }

  private mutating func addOtherClaims() throws {
    let samples = Dictionary(uniqueKeysWithValues: try samples().map { ($0.name, $0) })
    let presence = samples["presence"]!
    let event = samples["event"]!
    let command = samples["command"]!
    let policy = samples["policy"]!
    let refusal = samples["refusal"]!
    let gap = site.event(.gap(first: 3, head: SHA256.text(of: [9])), number: 9, previous: SHA256.text(of: [2]))
    let change = site.event(VectorSite.change, number: 2, previous: SHA256.text(of: [1]))
    let now = VectorSite.now
    let brief: JSON = ["code": "autologin", "check": "disk", "subject": "pi"]
    let rows: [(String, ClaimError.Code, String, Sample, JSON)] = [
      ("state", .value, "state", presence, presence.claims.setting("state", to: "away")),
      ("chal-short", .range, "chal", presence, presence.claims.setting("chal", to: "1234567")),
      ("conn-negative", .range, "conn", presence, presence.claims.setting("conn", to: -1)),
      ("counters-text", .type, "counters", presence, presence.claims.adding("counters", ["sent": "1"])),
      ("counters-negative", .type, "counters", presence, presence.claims.adding("counters", ["sent": -1])),
      ("kind", .value, "event", event, event.claims.setting("event", to: "party")),
      ("eseq-zero", .range, "eseq", event, event.claims.setting("eseq", to: 0)),
      ("start-late", .conflict, "eseq", event, event.claims.setting("eseq", to: 2)),
      ("start-with-prev", .conflict, "prev", event, event.claims.adding("prev", .string(SHA256.text(of: [1])))),
      ("start-reason", .value, "reason", event, event.claims.setting("reason", to: "whim")),
      ("change-without-prev", .conflict, "prev", event, change.removing("prev")),
      ("prev-short", .range, "prev", event, change.setting("prev", to: "abc")),
      ("gap-backwards", .conflict, "first", event, gap.setting("first", to: 10)),
      ("gap-without-head", .missing, "head", event, gap.removing("head")),
      (
        "change-check", .value, "change.appeared.check", event,
        change.setting("change", "appeared", to: [brief.setting("check", to: "luck")])
      ),
      (
        "change-many", .range, "change.appeared", event,
        change.setting("change", "appeared", to: .array(Array(repeating: brief, count: 33)))
      ),
      ("ctl", .range, "ctl", refusal, refusal.claims.setting("ctl", to: "abc")),
      ("code", .value, "code", refusal, refusal.claims.setting("code", to: "mood")),
      ("other-command", .value, "cmd", command, command.claims.setting("cmd", to: "reboot")),
      ("aud-list", .type, "aud", command, command.claims.setting("aud", to: ["urn:posture:site-a:edge-0042"])),
      ("aud-wildcard", .value, "aud", command, command.claims.setting("aud", to: "urn:posture:site-a:+")),
      ("aud-other-site", .conflict, "aud", command, command.claims.setting("aud", to: "urn:posture:site-b:edge-0042")),
      ("exp-before-iat", .conflict, "exp", command, command.claims.setting("exp", to: .integer(now - 6))),
      ("jti-short", .range, "jti", command, command.claims.setting("jti", to: "1234567")),
      (
        "nonce-long", .range, "nonce", command,
        command.claims.setting("nonce", to: .string(String(repeating: "n", count: 89)))
      ),
      ("chal-number", .type, "chal", command, command.claims.adding("chal", 12_345_678)),
      ("cseq-negative", .range, "cseq", command, command.claims.adding("cseq", -1)),
      ("spread-long", .range, "spread", command, command.claims.adding("spread", 3_601)),
      ("ver-zero", .range, "ver", policy, policy.claims.setting("ver", to: 0)),
      ("aud-device", .value, "aud", policy, policy.claims.setting("aud", to: "urn:posture:site-a:edge-0042")),
      ("aud-other-site", .conflict, "aud", policy, policy.claims.setting("aud", to: "urn:posture:site-b")),
      (
        "unknown-check", .value, "policy", policy,
        policy.claims.setting("policy", to: ["name": "x", "checks": ["luck": "require"]])
      ),
      (
        "unknown-demand", .value, "policy", policy,
        policy.claims.setting("policy", to: ["name": "x", "checks": ["disk": "maybe"]])
      ),
      (
        "unknown-member", .value, "policy", policy,
        policy.claims.setting("policy", to: ["name": "x", "extends": "entry"])
      ),
      ("exp-before-iat", .conflict, "exp", policy, policy.claims.adding("exp", .integer(now - 3_601))),
    ]
    for (name, code, claim, sample, claims) in rows { try self.claim(name, code, claim, sample, claims) }
  }
}
