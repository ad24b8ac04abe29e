import Posture

/// `polkit` and `polkit:<action>`.
enum PolkitDoors {
  static func look(_ context: AuthContext) -> ProbeResult { ProbeResult() }
}
