import Posture

/// LUKS1 on-disk format: eight slots in one sector, and what clevis keeps in the gap behind them (luksmeta).
enum LUKS1 {
  /// Magic and version.
  static let magic = Array("LUKS".utf8) + [0xBA, 0xBE, 0, 1]

  private static let active: UInt32 = 0x00AC_71F3
  private static let sector = 512
  private static let slotCount = 8
  /// Slot descriptors start here, 48 bytes each.
  private static let table = 208

  /// One row of the table.
  private struct Row {
    var isActive: Bool
    var keyslot: LUKSKeyslot
    /// Where its key material ends, in bytes.
    var end: Int
  }

  static func read(_ reader: borrowing DeviceReader) throws(LUKSFault) -> LUKSHeader {
    guard let bytes = try reader.bytes(0, 592) else { throw .truncated }
    var fields = ByteReader(bytes, from: 104)
    guard let payload = fields.big32(), let keyBytes = fields.big32(), keyBytes <= 512 else {
      throw .metadata("impossible key size")
    }
    let rows = try rows(bytes, try check(bytes), Int(keyBytes))
    let hole = aligned(rows.map(\.end).max() ?? 0)
    let tokens = try clevisTokens(reader, hole: hole, end: Int(payload) * sector)
    let slots = rows.indices.filter { rows[$0].isActive }
      .map { LUKSHeader.Slot(id: String($0), tokens: tokens[$0].map { [$0] } ?? [], keyslot: rows[$0].keyslot) }
    var header = LUKSHeader(version: 1, slots: slots)
    header.hasPlainData = bytes[8..<40].starts(with: "cipher_null".utf8)
    return header
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }

  /// What every slot has in common: the hash, the cipher, and how the volume's key is recognised.
  private static func check(_ bytes: [UInt8]) throws(LUKSFault) -> LUKSKeyslot {
    var fields = ByteReader(bytes, from: 108)
    guard let keyBytes = fields.big32(), let digest = fields.take(20),
      let salt = fields.take(32), let iterations = fields.big32()
    else { throw .truncated }
    let hash = text(bytes[72..<104])
    return LUKSKeyslot(
      passphrase: .init(hash: hash, iterations: 0, salt: []), offset: 0,
      encryption: "\(text(bytes[8..<40]))-\(text(bytes[40..<72]))", areaKeySize: Int(keyBytes), keySize: Int(keyBytes),
      stripes: 0, splitHash: hash, check: .init(hash: hash, iterations: Int(iterations), salt: salt), digest: digest)
  }

  private static func rows(_ bytes: [UInt8], _ common: LUKSKeyslot, _ keyBytes: Int) throws(LUKSFault) -> [Row] {
    var rows: [Row] = []
    for number in 0..<slotCount {
      var fields = ByteReader(bytes, from: table + 48 * number)
      guard let state = fields.big32(), let iterations = fields.big32(), let salt = fields.take(32),
        let offset = fields.big32(), let stripes = fields.big32()
      else { throw .truncated }
      guard state == active || state == 0x0000_DEAD else { throw .metadata("impossible state of slot \(number)") }
      var keyslot = common
      keyslot.passphrase.iterations = Int(iterations)
      keyslot.passphrase.salt = salt
      (keyslot.offset, keyslot.stripes) = (Int(offset) * sector, Int(stripes))
      rows.append(
        Row(isActive: state == active, keyslot: keyslot, end: keyslot.offset + keyBytes * keyslot.stripes))
    }
    return rows
  }

  private static func aligned(_ offset: Int) -> Int { (offset + 4095) / 4096 * 4096 }

  // MARK: luksmeta

  /// The uuid under which clevis keeps its tokens.
  private static let clevis: [UInt8] = [
    0xCB, 0x6E, 0x89, 0x04, 0x81, 0xFF, 0x40, 0xDA, 0xA8, 0x4A, 0x07, 0xAB, 0x9A, 0xB5, 0x71, 0x5E,
  ]
  private static let mostTokenBytes = 1 << 20

  /// By slot: magic, version, checksum, then for each slot uuid, offset from the hole, length, checksum, reserved.
  private static func clevisTokens(
    _ reader: borrowing DeviceReader, hole: Int, end: Int
  ) throws(LUKSFault) -> [Int: KeyslotToken] {
    guard hole > 0, hole < end, let bytes = try reader.bytes(hole, 16 + slotCount * 32),
      bytes.starts(with: "LUKSMETA".utf8)
    else { return [:] }
    var tokens: [Int: KeyslotToken] = [:]
    for number in 0..<slotCount {
      var fields = ByteReader(bytes, from: 16 + 32 * number)
      guard fields.take(16) == clevis, let offset = fields.big32(), let length = fields.big32() else { continue }
      guard length <= mostTokenBytes, hole + Int(offset) + Int(length) <= end,
        let token = try reader.bytes(hole + Int(offset), Int(length))
      else { throw .metadata("a clevis token outside the gap") }
      tokens[number] = .clevis(ClevisPin(compact: String(decoding: token, as: UTF8.self)))
    }
    return tokens
  }
}
