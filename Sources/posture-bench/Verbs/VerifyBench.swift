import Posture
import PostureTokens

/// `verify`: a report of 2 KiB from bytes to claims, against OpenSSL's bare verification of the same bytes.
struct VerifyBench: Bench {
  static let name = "verify"
  static let question = "what does strict decoding cost beside the signature"
  static let size = 2_048

  var allowance = Allowance()

  func run() throws(BenchError) -> [Figure] {
    let key: FileKey
    let token: [UInt8]
    do throws(KeyError) {
      key = try FileKey.generate()
      token = try Self.report(by: key)
    } catch { throw BenchError(error.description) }
    let (bareKey, message) = (try BareKey(key), try BareMessage(String(decoding: token, as: UTF8.self)))
    let (ours, bare) = Measure.paired(
      samples: 61, batch: 200, { Self.decode(token, key.publicKey) }, { bareKey.verify(message) })
    let whole = Measure.perCall(samples: 61, batch: 200) { Self.decodeAndRead(token, key.publicKey) }
    guard let forged = Self.forged(token) else { throw BenchError("cannot forge a token") }
    let rejected = Measure.perCall(batch: 200) { Self.decode(forged, key.publicKey) }
    return [
      Figure(
        bench: Self.name, metric: "tokens of \(token.count) bytes per second and core", unit: "1/s",
        samples: ours.reciprocals(of: 1e9), floor: 1e9 / bare.median, target: .atLeast(0.8 / allowance.time)),
      Figure(
        bench: Self.name, metric: "the same, claims read", unit: "us", samples: whole.scaled(by: 1e-3),
        floor: bare.median * 1e-3),
      Figure(
        bench: Self.name, metric: "refused for its shape", unit: "us", samples: rejected.scaled(by: 1e-3),
        floor: bare.median * 1e-3),
    ]
  }

  private static func decode(_ token: [UInt8], _ key: PublicKey) {
    _ = try? TokenDecoder.decode(token, kinds: [.report]).verified(by: key)
  }

  private static func decodeAndRead(_ token: [UInt8], _ key: PublicKey) {
    _ = try? TokenDecoder.decode(token, kinds: [.report]).verified(by: key).claims(ReportClaims.init(claims:))
  }

  /// One letter of the signature's end is none.
  private static func forged(_ token: [UInt8]) -> [UInt8]? { token.isEmpty ? nil : token.dropLast() + [0x3D] }

  /// As many doors as fit into 2 KiB.
  private static func report(by key: FileKey) throws(KeyError) -> [UInt8] {
    var best: [UInt8] = []
    for doors in 0...40 {
      let token = Array(try TokenEncoder.encode(.report, claims(doors: doors), with: key).utf8)
      guard token.count <= size || best.isEmpty else { break }
      best = token
    }
    return best
  }

  private static func claims(doors: Int) -> JSON {
    var facts = ProbeResult()
    for number in 0..<doors {
      facts.doors.append(
        Door(
          "login@tty\(number)", .entry, "*", Opening([.passcode]),
          because: [Reason("pam.unix", file: "/etc/pam.d/login", line: number + 1)]))
    }
    let site = Name("site-a")!
    let evidence = Judge.evidence(of: facts, under: .entry)
    var claims = ReportClaims(
      issuer: Party(site, Name("edge-0042")!), ueid: "AX88mhviXUQIpsHQ6Ut3E_I", issuedAt: 1_790_000_000,
      expires: 1_790_003_900, nonces: ["kq3rT0v1zB8w5mXh2uPz1A"], bootSeed: "ABEiM0RVZneImaq7zN3u_w", uptime: 86_423,
      sequence: 412, clock: .synced, cause: .recheck, keyProtection: .file,
      chain: .init(chain: "Vw3x0cP8aT2k", number: 0, digest: nil), policyDigest: Policy.entry.digest, evidence: evidence
    )
    // Findings and password rules of nowhere would fill the 2 KiB before any door does.
    claims.evidence = .object(
      (claims.evidence.members ?? []).filter { !["findings", "passwordPolicy"].contains($0.name) })
    return claims.claims
  }
}
