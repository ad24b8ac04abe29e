import Posture
import PosturePlatform

/// What a private key file asks for, as its outside shows.
enum SSHPrivateKey: Hashable, Sendable {
  case open
  case passphrase
  /// A handle to a security key.
  case securityKey(passphrase: Bool, pin: Bool)
  /// Wrapped by this machine's TPM.
  case tpm(password: Bool)
  case damaged(String)

  /// nil for what is no private key.
  init?(_ bytes: [UInt8]) {
    guard let found = Self.putty(bytes) ?? Self.first(bytes) ?? Self.dropbear(bytes) ?? Self.pem(bytes) else {
      return nil
    }
    self = found
  }

  var opening: Opening? {
    switch self {
    case .open: .always
    case .passphrase: .passcode
    case .securityKey(true, _), .securityKey(false, true): Opening([.passcode, .token])
    case .securityKey(false, false): Opening([.token])
    case .tpm(true): Opening([.device, .passcode])
    case .tpm(false): Opening([.device])
    case .damaged: nil
    }
  }

  // MARK: SSH 1

  /// The format of protocol 1: a line and a NUL, then the cipher, 0 for none.
  private static func first(_ bytes: [UInt8]) -> SSHPrivateKey? {
    let magic = Array("SSH PRIVATE KEY FILE FORMAT 1.1\n\0".utf8)
    guard bytes.starts(with: magic) else { return nil }
    guard bytes.count > magic.count else { return .damaged("truncated") }
    return bytes[magic.count] == 0 ? .open : .passphrase
  }

  // MARK: Dropbear

  /// Fields behind the name of each kind, up to the secret one.
  private static let dropbearFields = [
    "ssh-rsa": 3, "ssh-dss": 5, "ssh-ed25519": 1, "ecdsa-sha2-nistp256": 3, "ecdsa-sha2-nistp384": 3,
    "ecdsa-sha2-nistp521": 3,
  ]

  /// What dropbearkey writes, which knows no passphrase: the name of the kind, then the numbers of the key.
  private static func dropbear(_ bytes: [UInt8]) -> SSHPrivateKey? {
    var reader = ByteReader(bytes)
    guard let type = text(&reader), let count = dropbearFields[type] else { return nil }
    var last: [UInt8] = []
    for _ in 0..<count {
      guard let field = string(&reader) else { return nil }
      last = field
    }
    // Ed25519's one field has both halves.
    return type == "ssh-ed25519" && last.count != 64 ? nil : .open
  }

  // MARK: PuTTY

  private static func putty(_ bytes: [UInt8]) -> SSHPrivateKey? {
    guard bytes.starts(with: "PuTTY-User-Key-File-".utf8) else { return nil }
    // PuTTY takes either character for the end of a line, and on Windows writes both.
    let lines = bytes.prefix(512).split { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
    guard let line = lines.first(where: { $0.starts(with: "Encryption: ".utf8) }) else {
      return .damaged("no Encryption line")
    }
    return line.elementsEqual("Encryption: none".utf8) ? .open : .passphrase
  }

  // MARK: PEM (RFC 7468, RFC 1421)

  private static let begin = Array("-----BEGIN ".utf8)

  private static func pem(_ bytes: [UInt8]) -> SSHPrivateKey? {
    var lines = bytes.split(separator: UInt8(ascii: "\n"))[...]
    lines = lines.drop { !($0.starts(with: begin) && text($0).ends(with: "PRIVATE KEY-----")) }
    guard let first = lines.popFirst().map(text) else { return nil }
    let body = lines.prefix { !$0.starts(with: "-----END ".utf8) }
    guard body.endIndex < lines.endIndex else { return .damaged("truncated") }
    return pem(first, body.map(text))
  }

  private static func text(_ line: ArraySlice<UInt8>) -> String { String(decoding: line, as: UTF8.self).trimmed }

  private static func pem(_ first: String, _ body: [String]) -> SSHPrivateKey {
    switch first {
    case "-----BEGIN ENCRYPTED PRIVATE KEY-----": return .passphrase
    case "-----BEGIN PRIVATE KEY-----": return .open
    case "-----BEGIN OPENSSH PRIVATE KEY-----": return openSSH(body)
    case "-----BEGIN TSS2 PRIVATE KEY-----": return tss2(body)
    default:
      let isEncrypted = body.contains { $0.hasPrefix("Proc-Type:") && $0.ends(with: "ENCRYPTED") }
      return isEncrypted ? .passphrase : .open
    }
  }

  /// OpenSSH's PROTOCOL.key: magic, cipher, kdf, kdf options, number of keys, public keys, the rest.
  private static func openSSH(_ body: [String]) -> SSHPrivateKey {
    guard let bytes = Base64.decode(body.joined().utf8), bytes.starts(with: "openssh-key-v1\0".utf8) else {
      return .damaged("not base64")
    }
    var reader = ByteReader(bytes, from: 15)
    guard let cipher = text(&reader), text(&reader) != nil, string(&reader) != nil, reader.big32() == 1,
      let publicKey = string(&reader), let rest = string(&reader)
    else { return .damaged("truncated") }
    var fields = ByteReader(publicKey)
    guard let type = text(&fields) else { return .damaged("no key type") }
    let isEncrypted = cipher != "none"
    guard type.hasPrefix("sk-") else { return isEncrypted ? .passphrase : .open }
    return .securityKey(passphrase: isEncrypted, pin: !isEncrypted && asksForPIN(rest, type))
  }

  /// The flags of an unencrypted handle stand behind its public fields: bit 2 asks for the security key's own PIN.
  private static func asksForPIN(_ bytes: [UInt8], _ type: String) -> Bool {
    var reader = ByteReader(bytes, from: 8)
    guard string(&reader) != nil else { return false }
    // Curve and point, or the point alone; then the application.
    let fields = type.contains("ecdsa") ? 3 : 2
    for _ in 0..<fields {
      guard string(&reader) != nil else { return false }
    }
    return (reader.byte() ?? 0) & 0x04 != 0
  }

  private static func string(_ reader: inout ByteReader) -> [UInt8]? {
    guard let length = reader.big32() else { return nil }
    return reader.take(Int(length))
  }

  private static func text(_ reader: inout ByteReader) -> String? {
    string(&reader).map { String(decoding: $0, as: UTF8.self) }
  }

  /// TSSPrivKey (tpm2-openssl): SEQUENCE { OID, [0] emptyAuth BOOLEAN, … }.
  private static func tss2(_ body: [String]) -> SSHPrivateKey {
    guard let bytes = Base64.decode(body.joined().utf8), let mark = emptyAuth(bytes) else { return .damaged("not DER") }
    return .tpm(password: !mark)
  }

  private static func emptyAuth(_ der: [UInt8]) -> Bool? {
    var reader = ByteReader(der)
    guard reader.byte() == 0x30, let length = reader.byte() else { return nil }
    if length > 0x80, reader.take(Int(length & 0x7F)) == nil { return nil }
    guard reader.byte() == 0x06, let size = reader.byte(), reader.take(Int(size)) != nil else { return nil }
    let next = reader.take(5) ?? []
    return next.starts(with: [0xA0, 0x03, 0x01, 0x01]) && next.last != 0
  }
}
