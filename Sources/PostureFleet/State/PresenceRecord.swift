import PostureTokens

/// Whether the device is connected: offline n cancels online up to n and nothing later, in whatever order they come.
struct PresenceRecord: Sendable {
  private var connections = SequenceWindow()
  private(set) var number: Int64 = -1
  private(set) var isOnline = false
  /// The id of the newest connection: what a command to a device without a clock has to repeat.
  private(set) var connection: String?
  /// When the present state was learnt, in seconds of the observer's clock.
  private(set) var since: Int64 = 0
  /// Two connections live under one key: they used one number, or take over from each other again and again.
  private(set) var isDoubled = false
  /// When the newest message was made, or received where its clock is ahead; what is older came late, or again.
  private var issued: Int64 = 0
  /// Births that came after that of a later connection, each with a number of its own.
  private var behind: [(number: Int64, at: Int64)] = []
  /// One such birth may have been late on its way through a cluster; so many, each later than the one before, within so
  /// many seconds, are those of a machine that counts by itself.
  private static let mostBehind = 3
  private static let behindWindow: Int64 = 600

  var isKnown: Bool { number >= 0 }

  mutating func see(_ facts: PresenceFacts, at now: Int64) {
    switch connections.see(facts.number, facts.connection) {
    case .conflict: isDoubled = true
    case .new, .forgotten:
      let isOfNow = facts.issued >= issued - Moment.leeway
      if facts.isOnline, facts.number < number, isOfNow { seeBehind(facts.number, at: now) }
    case .duplicate: break
    }
    issued = max(issued, min(facts.issued, now))
    let isLater = facts.number > number || (facts.number == number && isOnline && !facts.isOnline)
    guard isLater else { return }
    if facts.isOnline != isOnline || number < 0 { since = now }
    number = facts.number
    connection = facts.connection
    isOnline = facts.isOnline
  }

  private mutating func seeBehind(_ number: Int64, at now: Int64) {
    behind.removeAll { now - $0.at > Self.behindWindow || $0.number >= number }
    behind.append((number, now))
    if behind.count >= Self.mostBehind { isDoubled = true }
  }

  /// Forgets the contradiction.
  mutating func forgive() {
    connections = SequenceWindow()
    behind = []
    isDoubled = false
  }
}
