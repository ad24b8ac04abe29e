/// A key slot whose passphrase is stretched with PBKDF2, as far as trying one takes.
struct LUKSKeyslot: Hashable, Sendable {
  struct Stretching: Hashable, Sendable {
    var hash: String
    var iterations: Int
    var salt: [UInt8]
  }

  var passphrase: Stretching
  /// Offset of the key material, in bytes.
  var offset: Int
  /// `aes-xts-plain64`; others are not tried.
  var encryption: String
  /// Bytes of the key that encrypts the area, and of the volume's key.
  var areaKeySize: Int
  var keySize: Int
  /// How often the key is split, and with what.
  var stripes: Int
  var splitHash: String
  /// What the volume's key is recognised by.
  var check: Stretching
  var digest: [UInt8]
}

extension LUKSKeyslot {
  /// Rounds that are made for one trial, some 25 ms. systemd's own tools make slots for an empty passphrase with 1000;
  /// what cryptsetup makes for a person's has a hundred times more than this.
  private static let mostIterations = 50_000
  private static let mostStripes = 8_000
  private static let mostKeyBytes = 64
  private static let sector = 512

  private var isBearable: Bool {
    encryption == "aes-xts-plain64" && [32, 64].contains(areaKeySize) && (16...Self.mostKeyBytes).contains(keySize)
      && (1...Self.mostStripes).contains(stripes) && (1...Self.mostIterations).contains(passphrase.iterations)
      && (1...Self.mostIterations).contains(check.iterations) && (16...64).contains(digest.count)
      && (0...(1 << 40)).contains(offset)
  }

  /// Whether the empty passphrase opens it; nil where that is not tried, or its area is not there.
  func opensWithNothing(_ reader: borrowing DeviceReader) throws(LUKSFault) -> Bool? {
    guard isBearable else { return nil }
    let size = (keySize * stripes + Self.sector - 1) / Self.sector * Self.sector
    guard let material = try reader.bytes(offset, size),
      let key = passphrase.stretched([], to: areaKeySize),
      let plain = Cryptography.decryptAESXTS(material, key: key, sectorSize: Self.sector),
      let merged = merged(plain)
    else { return nil }
    return check.stretched(merged, to: digest.count) == digest
  }

  /// The key that was split so that a lost piece loses it (LUKS1 on-disk format, "AFsplitter").
  private func merged(_ pieces: [UInt8]) -> [UInt8]? {
    guard let blockSize = Cryptography.digest(splitHash, [])?.count else { return nil }
    var key = [UInt8](repeating: 0, count: keySize)
    for stripe in 0..<stripes {
      for index in 0..<keySize { key[index] ^= pieces[stripe * keySize + index] }
      if stripe < stripes - 1 {
        guard let next = diffused(key, blockSize) else { return nil }
        key = next
      }
    }
    return key
  }

  private func diffused(_ key: [UInt8], _ blockSize: Int) -> [UInt8]? {
    var result: [UInt8] = []
    var number: UInt32 = 0
    while result.count < key.count {
      let counter = (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32($0))) }
      guard let block = Cryptography.digest(splitHash, counter[...], key[result.count...].prefix(blockSize)) else {
        return nil
      }
      result += block.prefix(key.count - result.count)
      number += 1
    }
    return result
  }
}

extension LUKSKeyslot.Stretching {
  fileprivate func stretched(_ password: [UInt8], to length: Int) -> [UInt8]? {
    Cryptography.pbkdf2(hash, password, salt: salt, iterations: Int32(iterations), length: length)
  }
}
