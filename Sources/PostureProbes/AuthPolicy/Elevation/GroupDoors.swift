import Posture

/// `group:<name>`: membership that is root without proof.
enum GroupDoors {
  static func look(_ context: AuthContext) -> ProbeResult { ProbeResult() }
}
