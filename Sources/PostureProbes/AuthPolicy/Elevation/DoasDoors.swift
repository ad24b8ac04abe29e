import Posture

/// `doas`.
enum DoasDoors {
  static func look(_ context: AuthContext) -> ProbeResult { ProbeResult() }
}
