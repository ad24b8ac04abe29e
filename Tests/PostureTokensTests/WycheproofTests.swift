import Glibc
import Posture
import PosturePlatform
@testable import PostureTokens
import TestKit
import Testing

/// Project Wycheproof's vectors, which lie in a folder beside this repository.
@Suite struct WycheproofTests {
  static func path(_ name: String) -> String { Repository.path("../shared/vectors/\(name).json") }
  static func exists(_ name: String) -> Bool { access(path(name), R_OK) == 0 }

  private static func groups(_ name: String) throws -> [JSON] {
    try JSONParser.parse(AtomicFile.readAny(path(name)), limits: .foreign)["testGroups"]!.array!
  }

  @Test(.enabled(if: exists("ecdsa_secp256r1_sha256_p1363_test"), "needs ../shared/vectors"))
  func `signatures of r and s on P-256`() throws {
    var count = 0
    for group in try Self.groups("ecdsa_secp256r1_sha256_p1363_test") {
      let point = Self.bytes(hex: group["publicKey"]!["uncompressed"]!.string!)
      let key = try PublicKey(#require(JWK(x: Array(point[1..<33]), y: Array(point[33...]))))
      let multiples = try #require(PointMultiples(key.jwk))
      for test in group["tests"]!.array! {
        let (signature, message) = (Self.bytes(hex: test["sig"]!.string!), Self.bytes(hex: test["msg"]!.string!))
        let isValid = test["result"]!.string == "valid"
        #expect(key.verifies(signature, of: message) == isValid, "tcId \(test["tcId"]!): \(test["comment"]!)")
        #expect(
          Verifier.verifies(signature[...], digest: SHA256.digest(of: message), by: multiples) == isValid,
          "by multiples, tcId \(test["tcId"]!): \(test["comment"]!)")
        count += 1
      }
    }
    #expect(count > 200)
  }

  /// Their tokens have no `typ`, and a kid of their own, so only what lies below our header rules is asked: encoding,
  /// algorithm, signature. One that they call valid has to verify; one that they call invalid may not.
  @Test(.enabled(if: exists("json_web_signature_test"), "needs ../shared/vectors"))
  func `JWS of ES256`() throws {
    var count = 0
    for group in try Self.groups("json_web_signature_test") {
      let jwk = group["public"] ?? group["private"]!
      guard jwk["alg"]?.string == "ES256" else { continue }
      for test in group["tests"]!.array! {
        let verified = Self.verifies(test["jws"]!, jwk)
        #expect(verified == (test["result"]!.string == "valid"), "tcId \(test["tcId"]!): \(test["comment"]!)")
        count += 1
      }
    }
    print("wycheproof: \(count) JWS of ES256")
    #expect(count > 0)
  }

  private static func verifies(_ jws: JSON, _ jwk: JSON) -> Bool {
    guard let text = jws.string, let x = jwk["x"]?.string.flatMap({ Base64URL.decode($0) }),
      let y = jwk["y"]?.string.flatMap({ Base64URL.decode($0) }), let point = JWK(x: x, y: y),
      let key = try? PublicKey(point)
    else { return false }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Base64URL.decode(parts[0]), Base64URL.decode(parts[1]) != nil,
      let signature = Base64URL.decode(parts[2]), let members = try? JSONParser.parse(header),
      members["alg"]?.string == "ES256", members["crit"] == nil
    else { return false }
    return key.verifies(signature, of: Array("\(parts[0]).\(parts[1])".utf8))
  }

  private static func bytes(hex: String) -> [UInt8] {
    let digits = hex.utf8.map { UInt8(Character(Unicode.Scalar($0)).hexDigitValue!) }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
