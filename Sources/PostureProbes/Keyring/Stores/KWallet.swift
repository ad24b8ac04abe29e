import Posture

/// One wallet file of KWallet, and whether an empty password opens it.
struct KWallet: Hashable, Sendable {
  enum Cipher: UInt8, Sendable {
    case blowfishECB = 0
    case gpg = 2
    case blowfishCBC = 3
  }

  enum Hash: UInt8, Sendable {
    case sha1 = 0
    case pbkdf2SHA512 = 2
  }

  let cipher: Cipher
  /// nil where the cipher brings its own key.
  let hash: Hash?
  private let encrypted: [UInt8]

  private static let magic = Array("KWALLET\n\r\0\r\n".utf8)

  /// nil for what is no wallet of a known version, or is truncated.
  init?(_ bytes: [UInt8]) {
    guard bytes.starts(with: Self.magic) else { return nil }
    var reader = ByteReader(bytes, from: Self.magic.count)
    guard let version = reader.take(2), version[0] == 0, version[1] <= 1,
      let cipher = reader.byte().flatMap(Cipher.init(rawValue:)), let hash = reader.byte()
    else { return nil }
    self.cipher = cipher
    if cipher == .gpg {
      self.hash = nil
      encrypted = Array(reader.rest)
      return
    }
    guard let known = Hash(rawValue: hash), Self.skipDigests(&reader), reader.left >= 40, reader.left % 8 == 0 else {
      return nil
    }
    self.hash = known
    encrypted = Array(reader.rest)
  }

  /// Digests of folder and entry names, which can be read without the password.
  private static func skipDigests(_ reader: inout ByteReader) -> Bool {
    guard let folders = reader.big32(), folders <= 0xFFFF else { return false }
    for _ in 0..<folders {
      guard reader.take(16) != nil, let entries = reader.big32(), reader.take(16 * Int(entries)) != nil else {
        return false
      }
    }
    return true
  }

  // MARK: The empty password

  /// Rounds of PBKDF2 that KWallet makes; some 20 ms.
  private static let rounds: Int32 = 50_000
  private static let rounds1 = 2_000

  /// Whether "" opens it; nil where that could not be tried.
  func opensWithNothing(salt: [UInt8]?) -> Bool? {
    guard let key = emptyKey(salt: salt) else { return nil }
    let mode: Cryptography.BlockMode = cipher == .blowfishECB ? .ecb : .cbc
    guard let plain = Cryptography.decryptBlowfish(encrypted[...], key: key, mode: mode) else { return nil }
    return Self.isSound(plain)
  }

  private func emptyKey(salt: [UInt8]?) -> [UInt8]? {
    switch hash {
    case .pbkdf2SHA512:
      guard let salt, !salt.isEmpty else { return nil }
      return Cryptography.pbkdf2("SHA512", [], salt: salt, iterations: Self.rounds, length: 56)
    case .sha1:
      var sum = Cryptography.digest("SHA1", [])
      for _ in 1..<Self.rounds1 { sum = sum.flatMap { Cryptography.digest("SHA1", $0[...]) } }
      return sum
    case nil: return nil
    }
  }

  /// A block of noise, the length, the content, and at the very end its SHA-1.
  private static func isSound(_ plain: [UInt8]) -> Bool {
    var reader = ByteReader(plain, from: 8)
    guard let length = reader.big32(), let content = reader.take(Int(length)), reader.left >= 20 else { return false }
    return Cryptography.digest("SHA1", content[...]) == Array(plain.suffix(20))
  }
}
