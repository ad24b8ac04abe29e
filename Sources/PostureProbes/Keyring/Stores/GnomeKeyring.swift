import Posture

/// One keyring file of gnome-keyring, as far as it can be read without its password.
enum GnomeKeyring: Hashable, Sendable {
  /// AES with a key derived from a master password.
  case encrypted
  /// A key file: written exactly where the master password is empty.
  case plaintext
  /// The later format of oo7, which encrypts under an empty password as well.
  case oo7
  case damaged(String)

  private static let magic = Array("GnomeKeyring\n\r\0\n".utf8)

  init(_ bytes: [UInt8]) {
    self = bytes.starts(with: Self.magic) ? Self.binary(bytes) : Self.textual(bytes)
  }

  /// Fixed part after the magic: version (2), crypto, hash; name, ctime, mtime, flags, lock timeout, hash iterations,
  /// salt (8), reserved (16), number of items, items, size of the encrypted part, the encrypted part
  /// (gnome-keyring, egg and pkcs11/secret-store/gkm-secret-binary.c).
  private static func binary(_ bytes: [UInt8]) -> GnomeKeyring {
    var reader = ByteReader(bytes, from: magic.count)
    guard let version = reader.take(2), let crypto = reader.byte(), let hash = reader.byte() else {
      return .damaged("truncated")
    }
    if version == [1, 0] { return .oo7 }
    guard version == [0, 0], crypto == 0, hash == 0 else { return .damaged("unknown version") }
    return isWhole(&reader) ? .encrypted : .damaged("truncated")
  }

  private static func isWhole(_ reader: inout ByteReader) -> Bool {
    // name, 2 times of 8 bytes, flags, lock timeout, iterations, salt, reserved words
    guard skipText(&reader), reader.take(16 + 4 + 4 + 4 + 8 + 16) != nil, let items = reader.big32() else {
      return false
    }
    for _ in 0..<items {
      guard skipItem(&reader) else { return false }
    }
    guard let size = reader.big32(), size > 0, size % 16 == 0 else { return false }
    return reader.take(Int(size)) != nil
  }

  /// Identifier, type, attributes as hashes.
  private static func skipItem(_ reader: inout ByteReader) -> Bool {
    guard reader.take(8) != nil, let attributes = reader.big32() else { return false }
    for _ in 0..<attributes {
      guard skipText(&reader), let type = reader.big32() else { return false }
      // A hashed text, or a hashed number.
      guard type == 0 ? skipText(&reader) : (type == 1 && reader.take(4) != nil) else { return false }
    }
    return true
  }

  /// A length and as many bytes; 0xffffffff stands for no text.
  private static func skipText(_ reader: inout ByteReader) -> Bool {
    guard let length = reader.big32() else { return false }
    return length == .max || reader.take(Int(length)) != nil
  }

  /// A GKeyFile whose first group is `[keyring]`.
  private static func textual(_ bytes: [UInt8]) -> GnomeKeyring {
    if bytes.isEmpty { return .damaged("empty") }
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      let text = line.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
      if text.isEmpty || text.first == UInt8(ascii: "#") { continue }
      // GKeyFile passes over blanks behind the bracket, and over nothing else.
      let end = text.lastIndex { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D } ?? text.startIndex
      return text[...end].elementsEqual("[keyring]".utf8) ? .plaintext : .damaged("neither format")
    }
    return .damaged("neither format")
  }
}
