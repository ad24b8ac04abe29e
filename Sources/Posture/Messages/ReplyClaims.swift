/// `posture-progress+jwt`: how far the answer to a command has got.
public struct ProgressClaims: Hashable, Sendable {
  public var issuer: Party
  public var issuedAt: Int64
  /// The command's `jti`.
  public var command: String
  public var state: ProgressState

  public init(issuer: Party, issuedAt: Int64, command: String, state: ProgressState) {
    self.issuer = issuer
    self.issuedAt = issuedAt
    self.command = command
    self.state = state
  }

  public init(claims: JSON) throws(ClaimError) {
    let reader = try ClaimReader(claims)
    issuer = try reader.party("iss")
    issuedAt = try reader.date("iat")
    command = try reader.text("cmd", 8...88)
    state = try reader.word("state")
  }

  public var claims: JSON {
    [
      "iss": .string(issuer.urn), "iat": .integer(issuedAt), "cmd": .string(command),
      "state": .string(state.rawValue),
    ]
  }
}

/// `posture-refusal+jwt`: a command was understood and is not obeyed.
public struct RefusalClaims: Hashable, Sendable {
  public var issuer: Party
  public var issuedAt: Int64
  /// The command's `jti`.
  public var command: String
  /// The key (kid) that signed the command.
  public var controller: String
  public var code: RefusalCode

  public init(issuer: Party, issuedAt: Int64, command: String, controller: String, code: RefusalCode) {
    self.issuer = issuer
    self.issuedAt = issuedAt
    self.command = command
    self.controller = controller
    self.code = code
  }

  public init(claims: JSON) throws(ClaimError) {
    let reader = try ClaimReader(claims)
    issuer = try reader.party("iss")
    issuedAt = try reader.date("iat")
    command = try reader.text("cmd", 8...88)
    controller = try reader.base64url("ctl", 43...43)
    code = try reader.word("code")
  }

  public var claims: JSON {
    [
      "iss": .string(issuer.urn), "iat": .integer(issuedAt), "cmd": .string(command), "ctl": .string(controller),
      "code": .string(code.rawValue),
    ]
  }
}
