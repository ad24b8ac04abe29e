import COpenSSL
import Posture
import PostureTokens

/// `verify`: a report of 2 KiB from bytes to claims, against OpenSSL's bare verification of the same bytes.
struct VerifyBench: Bench {
  static let name = "verify"
  static let question = "what does strict decoding cost beside the signature"
  static let size = 2_048

  func run() throws(BenchError) -> [Figure] {
    let key: FileKey
    let token: [UInt8]
    do throws(KeyError) {
      key = try FileKey.generate()
      token = try Self.report(by: key)
    } catch { throw BenchError(error.description) }
    let floor = try BareVerifier(token: token, key: key.publicKey)
    let (ours, bare) = Measure.paired(samples: 61, batch: 200, { Self.decode(token, key.publicKey) }, floor.verify)
    let whole = Measure.perCall(samples: 61, batch: 200) { Self.decodeAndRead(token, key.publicKey) }
    guard let forged = Self.forged(token) else { throw BenchError("cannot forge a token") }
    let rejected = Measure.perCall(batch: 200) { Self.decode(forged, key.publicKey) }
    return [
      Figure(
        bench: Self.name, metric: "decode and verify, \(token.count) bytes", unit: "us", samples: ours.scaled(by: 1e-3),
        floor: bare.median * 1e-3, target: .atMost(1.25)),
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

/// EVP_DigestVerify on what is signed, with everything that can be prepared prepared.
private struct BareVerifier {
  let verify: () -> Void

  init(token: [UInt8], key: PublicKey) throws(BenchError) {
    let parts = token.split(separator: UInt8(ascii: "."))
    guard parts.count == 3, let raw = Base64URL.decode(parts[2]), let pkey = Self.key(key.jwk), let der = Self.der(raw),
      let context = EVP_MD_CTX_new()
    else { throw BenchError("OpenSSL takes the token apart otherwise") }
    let signed = Array(token[..<(parts[0].count + 1 + parts[1].count)])
    // Both live as long as the bench.
    verify = {
      EVP_MD_CTX_reset(context)
      EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, pkey)
      precondition(EVP_DigestVerify(context, der, der.count, signed, signed.count) == 1)
    }
  }

  private static func der(_ raw: [UInt8]) -> [UInt8]? {
    guard raw.count == 64, let signature = ECDSA_SIG_new() else { return nil }
    defer { ECDSA_SIG_free(signature) }
    let (r, s) = (Array(raw[..<32]), Array(raw[32...]))
    ECDSA_SIG_set0(signature, BN_bin2bn(r, 32, nil), BN_bin2bn(s, 32, nil))
    var der = [UInt8](repeating: 0, count: 80)
    let count = der.withUnsafeMutableBufferPointer { buffer in
      var at = buffer.baseAddress
      return i2d_ECDSA_SIG(signature, &at)
    }
    return count > 0 ? Array(der[..<Int(count)]) : nil
  }

  /// SubjectPublicKeyInfo of a point on P-256 (RFC 5480).
  private static func key(_ jwk: JWK) -> OpaquePointer? {
    let prefix: [UInt8] = [
      0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE,
      0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
    ]
    return (prefix + jwk.x + jwk.y).withUnsafeBufferPointer { buffer in
      var at = buffer.baseAddress
      return d2i_PUBKEY(nil, &at, buffer.count)
    }
  }
}
