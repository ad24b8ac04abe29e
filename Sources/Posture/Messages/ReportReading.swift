extension ReportClaims {
  public init(claims: JSON) throws(ClaimError) {
    let reader = try ClaimReader(claims)
    guard try reader.text("eat_profile") == Self.profile else { throw reader.error(.value, "eat_profile") }
    // RFC 9711 section 4.1 excludes `nonce`; this profile excludes tokens within tokens.
    try reader.forbid("nonce", "submods")
    issuer = try reader.party("iss")
    ueid = try reader.base64url("ueid", 10...44)
    issuedAt = try reader.date("iat")
    expires = try reader.optionalEnd(after: issuedAt, life: Self.longestLife)
    clock = try reader.word("clk")
    guard clock == .synced || expires == nil else { throw reader.error(.conflict, "exp") }
    nonces = try Self.nonces(reader)
    bootSeed = try reader.base64url("bootseed", 8...88)
    bootCount = try reader.optionalInteger("bootcount")
    uptime = try reader.integer("uptime")
    sequence = try reader.integer("seq")
    cause = try reader.word("cause")
    oemID = try reader.optionalInteger("oemid", in: 0...0xFFFF_FFFF)
    guard try reader.text("swname") == Self.software else { throw reader.error(.value, "swname") }
    softwareVersion = try reader.texts("swversion", count: 1...2, bytes: 1...64)[0]
    keyProtection = try reader.word("key_protection")
    chain = try ChainHead(reader.object("chain"))
    machine = try reader.optionalText("machine", 8...88)
    watch = try reader.optionalWord("watch")
    let reference = try reader.object("policy")
    policy = PolicyReference(
      name: try reference.text("name", 1...64), digest: try reference.base64url("digest", 43...43))
    verdict = try reader.word("verdict")
    measurements = try Self.measurements(reader)
    evidence = try reader.value("evidence")
    try checkAgreement(reader)
  }

  private static func nonces(_ reader: ClaimReader) throws(ClaimError) -> [String] {
    switch reader.optional("eat_nonce") {
    case nil: return []
    case .string: return [try reader.text("eat_nonce", 8...88)]
    // An array of one is a string by RFC 9711.
    default: return try reader.texts("eat_nonce", count: 2...mostNonces, bytes: 8...88)
    }
  }

  private static func measurements(_ reader: ClaimReader) throws(ClaimError) -> [Measurement] {
    guard let systems = try reader.value("measres").array else { throw reader.error(.type, "measres") }
    guard systems.count == 1, let system = systems[0].array, system.count == 2, system[0].string == Self.system,
      let rows = system[1].array, !rows.isEmpty, rows.count <= 64
    else { throw reader.error(.value, "measres") }
    var results: [Measurement] = []
    for row in rows {
      guard let pair = row.strings, pair.count == 2, let result = CheckResult(rawValue: pair[1]) else {
        throw reader.error(.value, "measres")
      }
      // A later agent may know more checks than this reader; they are in the evidence still.
      guard let check = CheckName(rawValue: pair[0]) else { continue }
      guard !results.contains(where: { $0.check == check }) else { throw reader.error(.conflict, "measres") }
      results.append(Measurement(check, result))
    }
    guard results.count == CheckName.allCases.count else { throw reader.error(.missing, "measres") }
    return results
  }

  /// `measres` and `verdict` say in short what `evidence` says in full; a report that says two things says nothing.
  private func checkAgreement(_ reader: ClaimReader) throws(ClaimError) {
    guard evidence["verdict"]?.string == verdict.rawValue, evidence["policy"]?.string == policy.name,
      let rows = evidence["checks"]?.array
    else { throw reader.error(.conflict, "evidence") }
    var failed = false
    var open = false
    var seen = 0
    for row in rows {
      guard let name = row["check"]?.string, let result = row["result"]?.string.flatMap(CheckResult.init(rawValue:)),
        let required = row["required"]?.bool
      else { throw reader.error(.type, "evidence") }
      if let check = CheckName(rawValue: name) {
        guard self[check] == result else { throw reader.error(.conflict, "measres") }
        seen += 1
      }
      failed = failed || (required && result == .fail)
      open = open || (required && result == .notRun)
    }
    guard seen == measurements.count else { throw reader.error(.conflict, "measres") }
    switch verdict {
    case .pass: guard !failed, !open else { throw reader.error(.conflict, "verdict") }
    case .fail: guard failed else { throw reader.error(.conflict, "verdict") }
    case .unknown: guard !failed else { throw reader.error(.conflict, "verdict") }
    }
  }
}
