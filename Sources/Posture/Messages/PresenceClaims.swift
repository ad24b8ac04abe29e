/// `posture-presence+jwt`: a connection of the device has begun, or has ended.
public struct PresenceClaims: Hashable, Sendable {
  public enum State: String, Sendable, CaseIterable {
    case online, offline
  }

  public var issuer: Party
  public var issuedAt: Int64
  public var state: State
  /// The connection's random id, 8 to 88 characters: claim `chal`, what a command's `chal` has to repeat.
  public var connection: String
  /// Rises with each connection of the key: claim `conn`. Offline n cancels online up to n and nothing later.
  public var number: Int64
  /// Whether `iat` comes from a clock that is trusted.
  public var clock: ClockState
  /// Counters of the agent, by name.
  public var counters: [JSON.Member]

  public init(
    issuer: Party, issuedAt: Int64, state: State, connection: String, number: Int64, clock: ClockState,
    counters: [JSON.Member] = []
  ) {
    self.issuer = issuer
    self.issuedAt = issuedAt
    self.state = state
    self.connection = connection
    self.number = number
    self.clock = clock
    self.counters = counters
  }

  public init(claims: JSON) throws(ClaimError) {
    let reader = try ClaimReader(claims)
    issuer = try reader.party("iss")
    issuedAt = try reader.date("iat")
    state = try reader.word("state")
    connection = try reader.text("chal", 8...88)
    number = try reader.integer("conn")
    clock = try reader.word("clk")
    counters = try Self.counters(reader)
  }

  private static func counters(_ reader: ClaimReader) throws(ClaimError) -> [JSON.Member] {
    guard let object = reader.optional("counters") else { return [] }
    guard let members = object.members,
      members.allSatisfy({ $0.value.integer.map(ClaimReader.counts.contains) ?? false })
    else { throw reader.error(.type, "counters") }
    guard members.count <= 64, members.allSatisfy({ $0.name.utf8.count <= 64 }) else {
      throw reader.error(.range, "counters")
    }
    return members
  }

  public var claims: JSON {
    .build { object in
      object("iss", .string(issuer.urn))
      object("iat", .integer(issuedAt))
      object("state", .string(state.rawValue))
      object("chal", .string(connection))
      object("conn", .integer(number))
      object("clk", .string(clock.rawValue))
      if !counters.isEmpty { object("counters", .object(counters)) }
    }
  }
}

/// What a device knows of its clock.
public enum ClockState: String, Sendable, CaseIterable {
  case synced
  /// Not set, or set by nobody that is trusted: a date is then a lower bound.
  case unsynced
}
