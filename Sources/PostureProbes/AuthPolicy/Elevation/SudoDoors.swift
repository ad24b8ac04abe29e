import Posture

/// `sudo` and `sudo:<command>`.
enum SudoDoors {
  static func look(_ context: AuthContext) -> ProbeResult { ProbeResult() }
}
