import Posture

/// `ssh@sshd`, `ssh@dropbear`.
enum SSHDoors {
  static func look(_ context: AuthContext) -> ProbeResult { ProbeResult() }
}
