import Posture

/// What a new password has to satisfy (`passwordPolicy`).
enum PasswordPolicyCheck {
  static func look(_ context: AuthContext) -> ProbeResult { ProbeResult() }
}
