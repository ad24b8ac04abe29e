import Posture

/// Other ways in over the network: `remote@<service>`.
enum OtherRemoteDoors {
  static func look(_ context: AuthContext) -> ProbeResult { ProbeResult() }
}
