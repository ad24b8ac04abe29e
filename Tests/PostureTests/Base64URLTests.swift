@testable import Posture
import Testing

@Suite struct Base64URLTests {
  /// Of all that can stand in a place, what is decoded is what would be encoded so, and the rest is nothing.
  @Test func `bytes have one spelling`() {
    var wrong: [[UInt8]] = []
    for count in 0...9 {
      for first in stride(from: UInt8(0), through: 255, by: 51) {
        let bytes = (0..<count).map { first &+ UInt8($0) &* 37 }
        let text = Base64URL.encodedBytes(bytes)
        if Base64URL.decode(text[...]) != bytes { wrong.append(text) }
        for place in text.indices {
          for byte in UInt8(0)...255 {
            var other = text
            other[place] = byte
            let decoded = Base64URL.decode(other[...])
            if let decoded, Base64URL.encodedBytes(decoded) != other { wrong.append(other) }
            if decoded == nil, Self.isSpelling(other) { wrong.append(other) }
          }
        }
      }
    }
    #expect(wrong.isEmpty, "\(wrong.prefix(5).map { String(decoding: $0, as: UTF8.self) })")
  }

  /// By the alphabet of RFC 4648 section 5, a letter at a time.
  private static func isSpelling(_ text: [UInt8]) -> Bool {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    let places = text.map { letters.firstIndex(of: $0) }
    guard !places.contains(nil) else { return false }
    switch text.count % 4 {
    case 0: return true
    case 2: return places.last!! % 16 == 0
    case 3: return places.last!! % 4 == 0
    default: return false
    }
  }

  @Test(arguments: ["A", "AAAAA", "AA==", "AAA=", "AA+A", "AA/A", " AAAA", "AAAA\n"])
  func `what is no base64url is nothing`(_ text: String) { #expect(Base64URL.decode(text) == nil) }
}
