import Posture

/// Text consoles: `login@console`, `login@<tty>`.
enum ConsoleDoors {
  static func look(_ context: AuthContext) -> ProbeResult { ProbeResult() }
}
