import Posture

/// Whether a finger can open anything for an owner (the `biometrics` check).
enum BiometricsCheck {
  static func look(_ context: AuthContext) -> ProbeResult { ProbeResult() }
}
