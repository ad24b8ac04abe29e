/// Why a device's last verdict cannot be taken at face value. Each is a state of its own and is never shown as a pass.
///
/// In the order of what a person has to see first: where several hold, the first one is the device's state.
public enum Condition: String, Sendable, CaseIterable, Comparable {
  /// Its key has been revoked.
  case revoked
  /// Two different messages were signed with one number of one key.
  case equivocation
  /// Two machines use one key.
  case cloned
  /// What its report topic holds is not what the device signed, or nobody vouches for the signer.
  case unverifiable
  /// A message waits for the credential of its key.
  case awaitingKey
  /// Its chain of events is forked, or events are missing that nobody declared lost.
  case chainBroken
  /// The trust document has expired, or it or its list of revoked keys is missing: nobody knows what has been revoked.
  case trustStale
  /// It is enrolled, or was heard of, but no report has come for too long.
  case silent
  /// The last report is past its time, or older than one that the history holds.
  case stale
  /// A retained report of a device whose clock is not trusted, or is ahead: it may be as old as it likes.
  case ageUnproven

  /// One sentence for people.
  public var meaning: String {
    switch self {
    case .revoked: "The device's key has been revoked; nothing it signs counts."
    case .equivocation:
      "Two different messages carry the same number under the same key: the key or its state was copied."
    case .cloned: "Two machines answer with the same key: the disk image was copied."
    case .unverifiable: "The message on the device's report topic does not verify."
    case .awaitingKey: "A message has come whose credential is not known yet."
    case .chainBroken: "Events are missing or contradict each other, and the device did not declare it."
    case .trustStale:
      "The trust document has expired or is missing, or its list of revoked keys is: revocations may be missing."
    case .silent: "Nothing has been heard of the device for too long."
    case .stale: "The last report is past its time, or is not the newest that the history holds."
    case .ageUnproven: "The device's clock is not trusted and the report was kept by the broker: ask for a recheck."
    }
  }

  private var rank: Int { Self.allCases.firstIndex(of: self)! }
  public static func < (left: Condition, right: Condition) -> Bool { left.rank < right.rank }
}

extension Condition {
  /// What to do about it.
  public var advice: String {
    switch self {
    case .revoked: "Enrol the device anew if it is to come back."
    case .equivocation:
      "Look at the device: enrol it with a new key, or, where it is explained, posturectl acknowledge."
    case .cloned: "Enrol each machine with a key of its own and revoke the copied one."
    case .unverifiable:
      "Look at the reason; renew the credential if it has expired, else find out who writes on its topic."
    case .awaitingKey: "Restart the agent so that it publishes its credential, or enrol the device."
    case .chainBroken: "Compare with the device's journal; once it is explained, accept it with posturectl acknowledge."
    case .trustStale: "Run posturectl trust renew, which publishes both again, and look at the broker."
    case .silent: "Look whether the device runs and reaches the broker."
    case .stale: "Ask for a recheck; look whether the device runs."
    case .ageUnproven: "Ask for a recheck."
    }
  }
}
