import Posture

/// Walking up to an abandoned session: `idle@<desktop>`.
enum IdleDoors {
  static func look(_ context: AuthContext) -> ProbeResult { ProbeResult() }
}
