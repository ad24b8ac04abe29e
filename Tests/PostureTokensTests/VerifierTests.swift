import Posture
import PosturePlatform
@testable import PostureTokens
import Synchronization
import TestKit
import Testing

/// A verifier is lent to one key after the other: none may see what another left in it.
@Suite struct VerifierTests {
  private struct Signed: Sendable {
    let key: PublicKey
    let bytes: [UInt8]
    let signature: [UInt8]
  }

  private static func signed(_ count: Int) throws -> [Signed] {
    try (0..<count).map { number in
      let key = try FileKey.generate()
      let bytes = Array("message \(number)".utf8)
      return Signed(key: key.publicKey, bytes: bytes, signature: try key.sign(bytes))
    }
  }

  @Test func `every key verifies its own and nobody else's, on several threads at once`() throws {
    let all = try Self.signed(16)
    let wrong = Mutex(0)
    let count = { @Sendable (isWrong: Bool) in if isWrong { wrong.withLock { $0 += 1 } } }
    try Together.run(4) { thread in
      for round in 0..<25 {
        for (index, mine) in all.enumerated() {
          let other = all[(index + 1 + (round + thread) % 15) % 16]
          count(!mine.key.verifies(mine.signature, of: mine.bytes))
          count(mine.key.verifies(other.signature, of: other.bytes))
          count(other.key.verifies(mine.signature, of: mine.bytes))
        }
      }
    }
    #expect(wrong.withLock { $0 } == 0)
  }

  @Test func `coordinates of no point are no key, and spoil nothing for the next`() throws {
    let signed = try Self.signed(1)[0]
    for bit in 0..<256 {
      var y = signed.key.jwk.y
      y[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: KeyError.self) { try PublicKey(JWK(x: signed.key.jwk.x, y: y)!) }
      #expect(signed.key.verifies(signed.signature, of: signed.bytes))
    }
    let zero = [UInt8](repeating: 0, count: 32)
    let ones = [UInt8](repeating: 0xFF, count: 32)
    for (x, y) in [(zero, zero), (ones, ones), (zero, ones), (signed.key.jwk.x, zero)] {
      #expect(throws: KeyError.self) { try PublicKey(JWK(x: x, y: y)!) }
    }
    #expect(signed.key.verifies(signed.signature, of: signed.bytes))
  }

  @Test func `the negative of a point is another key`() throws {
    let signed = try Self.signed(1)[0]
    let prime: [UInt8] =
      [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 12) + [UInt8](repeating: 0xFF, count: 12)
    var (difference, borrow) = ([UInt8](repeating: 0, count: 32), 0)
    for place in (0..<32).reversed() {
      let digit = Int(prime[place]) - Int(signed.key.jwk.y[place]) - borrow
      (difference[place], borrow) = (UInt8(digit & 0xFF), digit < 0 ? 1 : 0)
    }
    let negative = try PublicKey(JWK(x: signed.key.jwk.x, y: difference)!)
    #expect(negative.kid != signed.key.kid)
    #expect(!negative.verifies(signed.signature, of: signed.bytes))
    #expect(signed.key.verifies(signed.signature, of: signed.bytes))
  }
}
