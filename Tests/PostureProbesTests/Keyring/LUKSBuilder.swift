@testable import PostureProbes

/// LUKS headers byte by byte, for what no tool makes: damage, hostile sizes, tokens of absent hardware.
enum LUKSBuilder {
  static let size = 16_384

  /// Metadata with one slot for each element: its tokens as JSON members without `type` and `keyslots`.
  static func metadata(slots: Int, tokens: [(type: String, slot: Int, rest: String)] = []) -> String {
    let numbers = (0..<slots).map { "\"\($0)\"" }
    let keyslots = numbers.map {
      "\($0):{\"type\":\"luks2\",\"key_size\":64,\"area\":{\"offset\":\"9223372036854775807\"}}"
    }
    let rows = tokens.enumerated().map {
      "\"\($0.offset)\":{\"type\":\"\($0.element.type)\",\"keyslots\":[\"\($0.element.slot)\"]\($0.element.rest)}"
    }
    return """
      {"keyslots":{\(keyslots.joined(separator: ","))},"tokens":{\(rows.joined(separator: ","))},
      "segments":{"0":{"type":"crypt","offset":"16777216","size":"dynamic"}},
      "digests":{"0":{"type":"pbkdf2","keyslots":[\(numbers.joined(separator: ","))],"segments":["0"]}},
      "config":{"json_size":"12288","keyslots_size":"16744448"}}
      """
  }

  /// One copy.
  static func copy(
    _ json: [UInt8], at offset: Int = 0, size: UInt64 = UInt64(size), sequence: UInt64 = 3, version: UInt8 = 2,
    algorithm: String = "sha256", isSound: Bool = true
  ) -> [UInt8] {
    var binary = [UInt8](repeating: 0, count: 4096)
    func put(_ bytes: [UInt8], _ place: Int) { binary.replaceSubrange(place..<place + bytes.count, with: bytes) }
    func big(_ value: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) } }
    put(Array((offset == 0 ? "LUKS" : "SKUL").utf8) + [0xBA, 0xBE, 0, version], 0)
    put(big(size), 8)
    put(big(sequence), 16)
    put(Array(algorithm.utf8), 72)
    put(big(UInt64(offset)), 256)
    let room = max(json.count, Int(clamping: min(size, 4 << 20)) - 4096)
    let area = json + [UInt8](repeating: 0, count: room - json.count)
    var sum = Cryptography.digest(algorithm, binary[...], area[...]) ?? []
    if !isSound, !sum.isEmpty { sum[0] ^= 1 }
    put(sum, 448)
    return binary + area
  }

  /// Both copies.
  static func image(_ json: String) -> [UInt8] {
    copy(Array(json.utf8)) + copy(Array(json.utf8), at: size)
  }
}
