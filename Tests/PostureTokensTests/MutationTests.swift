import Glibc
import Posture
import PosturePlatform
@testable import PostureTokens
import Synchronization
import TestKit
import Testing

/// Tokens that were changed somewhere: none may crash the decoder, and none may be accepted that says anything else.
@Suite struct MutationTests {
  static let isLong = Long.isWanted
  static let rounds = isLong ? 10_000_000 : 200_000
  static let shares = 2

  private struct Target: Sendable {
    let bytes: [UInt8]
    let kinds: [TokenKind]
    let key: PublicKey
  }

  private static func targets() throws -> [Target] {
    let names = ["presence-online", "command-device", "progress", "event-change", "refusal", "policy-site", "keys"]
    return try names.map { name in
      let vector = try Vector.load("accept/\(name)")
      let jwk = try JWK(claims: vector.key!)
      return Target(bytes: vector.body, kinds: Topic(vector.topic)!.kinds, key: try PublicKey(jwk))
    }
  }

  @Test(.timeLimit(.minutes(isLong ? 60 : 5)))
  func `no mutated token is accepted`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("mutation: seed \(seed), \(Self.rounds) tokens")
    let targets = try Self.targets()
    let verified = Mutex(0)
    try Together.run(Self.shares) { share in
      let count = Self.mutate(targets, seed &+ UInt64(share), Self.rounds / Self.shares)
      verified.withLock { $0 += count }
    }
    print("mutation: \(verified.withLock { $0 }) of them reached the signature")
    #expect(verified.withLock { $0 } > Self.rounds / 100)
  }

  /// How many reached the signature.
  private static func mutate(_ targets: [Target], _ seed: UInt64, _ rounds: Int) -> Int {
    var random = SplitMix(seed)
    let honest = Set(targets.map(\.bytes))
    var verified = 0
    for _ in 0..<rounds {
      let target = targets.randomElement(using: &random)!
      let other = targets.randomElement(using: &random)!
      let bytes = mutated(target.bytes, other.bytes, &random)
      guard let unverified = try? TokenDecoder.decode(bytes, kinds: target.kinds) else { continue }
      verified += 1
      guard let token = try? unverified.verified(by: target.key) else { continue }
      // Parts of another honest token may have come together to that very token again.
      let isHonest = honest.contains(token.bytes)
      #expect(isHonest, "seed \(seed): \(token.text)")
    }
    return verified
  }

  private static func mutated(_ bytes: [UInt8], _ other: [UInt8], _ random: inout SplitMix) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let at = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<8, using: &random) {
      case 0: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes[at] = UInt8.random(in: 0...255, using: &random)
      case 2, 3: bytes[at] = letters.randomElement(using: &random)!
      case 4: bytes.insert(letters.randomElement(using: &random)!, at: at)
      case 5: bytes.remove(at: at)
      case 6: splice(&bytes, other, &random)
      default: bytes.swapAt(at, Int.random(in: 0..<bytes.count, using: &random))
      }
      if bytes.isEmpty { return [0] }
    }
    return bytes
  }

  /// One part is taken from another token.
  private static func splice(_ bytes: inout [UInt8], _ other: [UInt8], _ random: inout SplitMix) {
    var parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let others = other.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let at = Int.random(in: 0..<3, using: &random)
    guard parts.count == 3, others.count == 3 else { return }
    parts[at] = others[at]
    bytes = Array(parts.joined(separator: [UInt8(ascii: ".")]))
  }

  private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  @Test func `claims of any content are read or refused`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("claims: seed \(seed)")
    var random = SplitMix(seed)
    let site = try VectorSite()
    let samples: [(JSON, (JSON) throws -> JSON)] = [
      (site.report(), { try ReportClaims(claims: $0).claims }),
      (
        site.event(VectorSite.change, number: 2, previous: SHA256.text(of: [1])), { try EventClaims(claims: $0).claims }
      ),
      (site.presence(), { try PresenceClaims(claims: $0).claims }),
      (site.command(), { try RecheckClaims(claims: $0).claims }),
      (site.policy(), { try PolicyClaims(claims: $0).claims }),
      (site.grant("a", .device, site.deviceKey).claims, { try Grant(claims: $0).claims }),
      (
        try TokenDecoder.decode(site.trust(), kinds: [.trust]).unverifiedClaims(),
        { try TrustClaims(claims: $0).claims }
      ),
      (
        try TokenDecoder.decode(site.keys(), kinds: [.credential]).unverifiedClaims(),
        { try CredentialClaims(claims: $0).claims }
      ),
      (site.refusal(), { try RefusalClaims(claims: $0).claims }),
      (try site.request().claims, { try EnrolmentRequestClaims(claims: $0).claims }),
    ]
    for (claims, read) in samples { #expect(try read(claims) == claims) }
    var read = 0
    for _ in 0..<20_000 {
      let (claims, reader) = samples.randomElement(using: &random)!
      let changed = Self.changed(claims, &random)
      do {
        let again = try reader(changed)
        // What is read once is read again, and means the same.
        #expect(try reader(again) == again, "seed \(seed)")
        read += 1
      } catch is ClaimError {}
    }
    #expect(read > 100)
  }

  private static func changed(_ json: JSON, _ random: inout SplitMix) -> JSON {
    switch json {
    case .object(var members) where !members.isEmpty && Int.random(in: 0..<8, using: &random) > 0:
      let at = Int.random(in: 0..<members.count, using: &random)
      if Int.random(in: 0..<10, using: &random) == 0 {
        members.remove(at: at)
      } else {
        members[at].value = changed(members[at].value, &random)
      }
      return .object(members)
    case .array(var values) where !values.isEmpty && Int.random(in: 0..<8, using: &random) > 0:
      let at = Int.random(in: 0..<values.count, using: &random)
      if Int.random(in: 0..<6, using: &random) == 0 {
        values.append(values[at])
      } else {
        values[at] = changed(values[at], &random)
      }
      return .array(values)
    default: return strange.randomElement(using: &random)!
    }
  }

  private static let strange: [JSON] = [
    .null, true, false, 0, 1, -1, .integer(.max), .integer(.min), "", "x", "urn:posture:site-a:edge-0042", "fail",
    .string(String(repeating: "x", count: 300)), "\0", "\u{202E}", [], [[]], [:], ["a": [:]], ["12345678", "12345678"],
    1_790_000_000, "AX88mhviXUQIpsHQ6Ut3E_I",
  ]
}
