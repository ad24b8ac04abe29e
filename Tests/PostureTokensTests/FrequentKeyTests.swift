import Posture
import PosturePlatform
@testable import PostureTokens
import Synchronization
import TestKit
import Testing

/// What is verified by a point, and by multiples of it, is what OpenSSL's own verification says.
@Suite struct FrequentKeyTests {
  private static func bytes(_ numbers: inout SplitMix, _ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: 0...255, using: &numbers) }
  }

  @Test func `changed signatures and digests get the same answer`() throws {
    let seed = UInt64.random(in: 0...(.max))
    var numbers = SplitMix(seed)
    let key = try FileKey.generate()
    let multiples = try #require(PointMultiples(key.publicKey.jwk))
    let reference = try #require(OpenSSLVerification(key.publicKey.jwk))
    for _ in 0..<300 {
      let message = Self.bytes(&numbers, 40)
      let good = try key.sign(message)
      var digest = SHA256.digest(of: message)
      #expect(Verifier.verifies(good[...], digest: digest, by: multiples))
      #expect(Verifier.verifies(good[...], digest: digest, by: key.publicKey.jwk))
      var signature = good
      switch Int.random(in: 0..<5, using: &numbers) {
      case 0: signature[Int.random(in: 0..<64, using: &numbers)] ^= 1 << UInt8.random(in: 0..<8, using: &numbers)
      case 1: digest[Int.random(in: 0..<32, using: &numbers)] ^= 1 << UInt8.random(in: 0..<8, using: &numbers)
      case 2: signature = Array(good[32...] + good[..<32])
      case 3: signature = Self.bytes(&numbers, 64)
      default: signature = Array(good[..<32]) + [UInt8](repeating: 0, count: 32)
      }
      let isGood = reference.verifies(signature[...], digest: digest)
      #expect(Verifier.verifies(signature[...], digest: digest, by: multiples) == isGood, "seed \(seed)")
      #expect(Verifier.verifies(signature[...], digest: digest, by: key.publicKey.jwk) == isGood, "seed \(seed)")
    }
  }

  /// Numbers outside 1 to the order less one, sums at infinity and of twice the same point.
  @Test func `numbers at the ends of their range`() throws {
    let key = try FileKey.generate()
    let multiples = try #require(PointMultiples(key.publicKey.jwk))
    let reference = try #require(OpenSSLVerification(key.publicKey.jwk))
    let order: [UInt8] = [
      0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6, 0xFA, 0xAD, 0xA7,
      0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]
    var below = order
    below[31] -= 1
    var above = order
    above[31] += 1
    let zero = [UInt8](repeating: 0, count: 32)
    let one: [UInt8] = zero.dropLast() + [1]
    let ones = [UInt8](repeating: 0xFF, count: 32)
    for r in [zero, one, below, order, above, ones] {
      for s in [zero, one, below, order, above, ones] {
        for digest in [zero, one, below, order, above, ones] {
          let signature = (r + s)[...]
          let isGood = reference.verifies(signature, digest: digest)
          #expect(Verifier.verifies(signature, digest: digest, by: multiples) == isGood)
          #expect(Verifier.verifies(signature, digest: digest, by: key.publicKey.jwk) == isGood)
        }
      }
    }
    for signature in [[], one, one + one + [0]] {
      #expect(!Verifier.verifies(signature[...], digest: one, by: multiples))
      #expect(!Verifier.verifies(signature[...], digest: one, by: key.publicKey.jwk))
    }
    #expect(!Verifier.verifies((one + one)[...], digest: [], by: key.publicKey.jwk))
  }

  @Test func `coordinates of no point have no multiples`() throws {
    let ones = [UInt8](repeating: 0xFF, count: 32)
    #expect(PointMultiples(JWK(x: ones, y: ones)!) == nil)
  }

  /// Before, while and after the multiples are made, on several threads.
  @Test func `a key that is asked for often keeps its answers`() throws {
    let key = try FileKey.generate()
    let message = Array("a credential".utf8)
    let (digest, signature) = (SHA256.digest(of: message), try key.sign(message))
    var forged = signature
    forged[40] ^= 1
    let wrong = Mutex(0)
    try Together.run(4) { [forged] _ in
      for _ in 0..<FrequentKeys.threshold {
        let isRight =
          FrequentKeys.verifies(signature[...], digest: digest, by: key.publicKey)
          && !FrequentKeys.verifies(forged[...], digest: digest, by: key.publicKey)
        if !isRight { wrong.withLock { $0 += 1 } }
      }
    }
    #expect(wrong.withLock { $0 } == 0)
  }
}
