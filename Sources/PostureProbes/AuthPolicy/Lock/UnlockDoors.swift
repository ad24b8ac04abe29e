import Posture

/// Getting back into a locked session: `unlock@<locker>`.
enum UnlockDoors {
  static func look(_ context: AuthContext) -> ProbeResult { ProbeResult() }
}
