/// `posture-cmd+jwt`: a controller asks for a report made now. The agent knows no other command.
public struct RecheckClaims: Hashable, Sendable {
  /// Seconds: a command that lives longer is refused by the gate (`tooLong`).
  public static let longestLife: Int64 = 300

  public var issuer: Party
  public var audience: Audience
  public var issuedAt: Int64
  public var expires: Int64
  /// `jti`: remembered by the device until ``expires``.
  public var id: String
  /// Echoed in the report's `eat_nonce`: 8 to 88 characters.
  public var nonce: String
  /// What the device's presence gave out for this connection; for devices whose clock is not trusted.
  public var challenge: String?
  /// Rising per controller key; for devices whose clock is not trusted, and commands to many.
  public var sequence: Int64?
  /// Seconds over which the devices of a group spread their answers.
  public var spread: Int64?
  /// Seconds the controller waits for the report.
  public var deadline: Int64?

  public init(
    issuer: Party, audience: Audience, issuedAt: Int64, expires: Int64, id: String, nonce: String,
    challenge: String? = nil, sequence: Int64? = nil, spread: Int64? = nil, deadline: Int64? = nil
  ) {
    self.issuer = issuer
    self.audience = audience
    self.issuedAt = issuedAt
    self.expires = expires
    self.id = id
    self.nonce = nonce
    self.challenge = challenge
    self.sequence = sequence
    self.spread = spread
    self.deadline = deadline
  }

  public init(claims: JSON) throws(ClaimError) {
    let reader = try ClaimReader(claims)
    guard try reader.text("cmd") == "recheck" else { throw reader.error(.value, "cmd") }
    issuer = try reader.party("iss")
    audience = try reader.audience()
    guard issuer.site == audience.site else { throw reader.error(.conflict, "aud") }
    issuedAt = try reader.date("iat")
    expires = try reader.end(after: issuedAt, life: Int64.max)
    id = try reader.text("jti", 8...88)
    nonce = try reader.text("nonce", 8...88)
    challenge = try reader.optionalText("chal", 8...88)
    sequence = try reader.optionalInteger("cseq")
    spread = try reader.optionalInteger("spread", in: 0...3_600)
    deadline = try reader.optionalInteger("deadline", in: 1...3_600)
  }

  /// Seconds.
  public var life: Int64 { expires - issuedAt }

  public var claims: JSON {
    .build { object in
      object("cmd", "recheck")
      object("iss", .string(issuer.urn))
      object("aud", .string(audience.urn))
      object("iat", .integer(issuedAt))
      object("exp", .integer(expires))
      object("jti", .string(id))
      object("nonce", .string(nonce))
      object("chal", optional: challenge)
      if let sequence { object("cseq", .integer(sequence)) }
      if let spread { object("spread", .integer(spread)) }
      if let deadline { object("deadline", .integer(deadline)) }
    }
  }
}
