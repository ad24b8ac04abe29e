import Posture

/// Rescue shells and boot loaders: `rescue@sulogin`, `boot@<loader>`.
enum BootDoors {
  static func look(_ context: AuthContext) -> ProbeResult { ProbeResult() }
}
