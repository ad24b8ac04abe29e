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
}
