/// The kinds of our signed tokens: the `typ` of the JOSE header. Each topic takes exactly one (``Topic/kinds``).
public enum TokenKind: String, Sendable, CaseIterable {
  /// RFC 9782.
  case report = "eat+jwt"
  case event = "posture-event+jwt"
  case presence = "posture-presence+jwt"
  case progress = "posture-progress+jwt"
  case refusal = "posture-refusal+jwt"
  case command = "posture-cmd+jwt"
  case policy = "posture-policy+jwt"
  case credential = "posture-credential+jwt"
  case trust = "posture-trust+jwt"
  case revoked = "posture-revoked+jwt"
  case request = "posture-request+jwt"
  case renewal = "posture-renewal+jwt"
}

extension TokenKind {
  /// Bytes: a longer token of this kind is refused before anything in it is looked at.
  public var sizeLimit: Int {
    switch self {
    case .report, .trust: 49_152
    case .revoked, .renewal: 24_576
    case .event, .policy: 16_384
    case .credential, .request: 8_192
    case .presence, .progress, .refusal, .command: 4_096
    }
  }

  /// The longest of all.
  public static let largestSize = 49_152
}
