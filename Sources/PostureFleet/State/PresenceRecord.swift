/// Whether the device is connected: offline n cancels online up to n and nothing later, in whatever order they come.
struct PresenceRecord: Sendable {
  private var connections = SequenceWindow()
  private(set) var number: Int64 = -1
  private(set) var isOnline = false
  /// The id of the newest connection: what a command to a device without a clock has to repeat.
  private(set) var connection: String?
  /// When the present state was learnt, in seconds of the observer's clock.
  private(set) var since: Int64 = 0
  /// One number was used by two connections.
  private(set) var isDoubled = false

  var isKnown: Bool { number >= 0 }

  mutating func see(_ facts: PresenceFacts, at now: Int64) {
    if connections.see(facts.number, facts.connection) == .conflict { isDoubled = true }
    let isLater = facts.number > number || (facts.number == number && isOnline && !facts.isOnline)
    guard isLater else { return }
    if facts.isOnline != isOnline || number < 0 { since = now }
    number = facts.number
    connection = facts.connection
    isOnline = facts.isOnline
  }

  /// Forgets the contradiction.
  mutating func forgive() {
    connections = SequenceWindow()
    isDoubled = false
  }
}
