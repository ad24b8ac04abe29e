import Posture

/// Display managers: `graphical@<manager>`.
enum GraphicalDoors {
  static func look(_ context: AuthContext) -> ProbeResult { ProbeResult() }
}
