import Posture
import PostureTokens

/// Commands obeyed, until they can no longer be sent again, and the highest number of each controller. Bounded.
struct CommandMemory: Hashable, Sendable {
  /// Many more than the gate lets through in the longest life of a command.
  static let cap = 4_096
  static let controllerCap = 256

  private struct Entry: Hashable, Sendable {
    /// Seconds since the epoch.
    var expires: Int64
    /// Milliseconds of the clock that only grows: before this the entry stays whatever the date says, for a clock that
    /// was set ahead may be set back.
    var keptUntil: Int64
  }

  private var entries: [String: Entry] = [:]
  private var sequences: [String: Int64] = [:]
  /// The latest end of a forgotten command: one that ends no later may be one of those. Its time was once past, and is so
  /// for good, whatever a clock that was set back, or is not trusted any more, says now.
  private(set) var forgottenUntil: Int64 = .min

  init() {}

  var count: Int { entries.count }

  static func key(_ kid: String, _ command: String) -> String { "\(kid) \(command)" }

  func contains(_ key: String) -> Bool { entries[key] != nil }

  func sequence(of kid: String) -> Int64 { sequences[kid] ?? Int64.min }

  /// False where it is full.
  mutating func remember(_ key: String, until expires: Int64, life: Int64, _ now: Int64) -> Bool {
    guard entries.count < Self.cap else { return false }
    entries[key] = Entry(expires: expires, keptUntil: now + (life + 2 * Moment.leeway) * 1_000)
    return true
  }

  mutating func raise(_ kid: String, to sequence: Int64) {
    guard sequence > self.sequence(of: kid) else { return }
    guard sequences[kid] != nil || sequences.count < Self.controllerCap else { return }
    sequences[kid] = sequence
  }

  mutating func forget(at moment: Moment, _ now: Int64) {
    for (key, entry) in entries where moment.isPast(entry.expires) && now >= entry.keptUntil {
      forgottenUntil = max(forgottenUntil, entry.expires)
      entries[key] = nil
    }
  }

  // MARK: On disk

  var json: JSON {
    .build { object in
      object(
        "commands",
        .object(entries.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .integer($0.value.expires)) }))
      object("sequences", .object(sequences.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .integer($0.value)) }))
      if forgottenUntil > .min { object("forgottenUntil", .integer(forgottenUntil)) }
    }
  }

  /// What was written before a restart: each entry stays for the longest life of a command from `now` at least.
  init?(json: JSON, _ now: Int64) {
    guard let commands = json["commands"]?.members, let numbers = json["sequences"]?.members,
      commands.count <= Self.cap, numbers.count <= Self.controllerCap
    else { return nil }
    if let known = json["forgottenUntil"] {
      guard let end = known.integer else { return nil }
      forgottenUntil = end
    }
    let keptUntil = now + (RecheckClaims.longestLife + 2 * Moment.leeway) * 1_000
    for command in commands {
      guard let expires = command.value.integer else { return nil }
      entries[command.name] = Entry(expires: expires, keptUntil: keptUntil)
    }
    for number in numbers {
      guard let value = number.value.integer else { return nil }
      sequences[number.name] = value
    }
  }
}
