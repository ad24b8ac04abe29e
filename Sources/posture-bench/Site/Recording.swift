import Posture
import PostureProbes
import PosturePlatform
import PostureTokens

/// The evidence of this machine, taken once: what every simulated device reports.
enum Recording {
  static func evidence() throws(BenchError) -> Evidence {
    let system: System
    do throws(SystemError) { system = try System() } catch { throw BenchError("\(error)") }
    return Judge.evidence(of: DeviceProbe().run(on: system), under: .entry)
  }

  /// A report's claims; who makes it and when is filled in by each device.
  static func report(_ evidence: Evidence, site: Name) -> ReportClaims {
    ReportClaims(
      issuer: Party(site, Name("nobody")!), ueid: "AX88mhviXUQIpsHQ6Ut3E_I", issuedAt: Clock.wall,
      expires: Clock.wall + 7_500, nonces: [], bootSeed: "ABEiM0RVZneImaq7zN3u_w", uptime: 86_400, sequence: 0,
      clock: .synced, cause: .start, keyProtection: .file,
      chain: .init(chain: "Vw3x0cP8aT2k", number: 0, digest: nil), policyDigest: Policy.entry.digest,
      evidence: evidence)
  }
}
