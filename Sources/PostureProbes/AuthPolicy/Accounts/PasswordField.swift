import Posture
import PosturePlatform
import Synchronization

/// What the hash field of shadow(5), or of passwd(5), says.
struct PasswordField: Hashable, Sendable {
  var password: Subject.Password
  var scheme: String?
  /// The hash would take longer to compute than an examination may take, so it was not tried.
  var isTooCostly = false

  init(_ field: String) {
    if field.isEmpty {
      self.init(.empty)
    } else if field == "*NP*" {
      self.init(.unmatchable)
    } else if field.hasPrefix("!") || field.hasPrefix("*") {
      self.init(.locked)
    } else {
      self = HashScheme.classify(Self.withoutAgeing(field))
    }
  }

  init(_ password: Subject.Password, scheme: String? = nil) {
    self.password = password
    self.scheme = scheme
  }

  fileprivate init(tooCostly scheme: String) {
    self.init(.unreadable, scheme: scheme)
    isTooCostly = true
  }

  private static let hashCharacters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./".utf8)

  static func isHashText(_ text: some Sequence<UInt8>) -> Bool { text.allSatisfy(hashCharacters.contains) }

  /// pam_unix cuts what HP-UX puts behind the 13 characters of a hash.
  private static func withoutAgeing(_ field: String) -> String {
    let bytes = Array(field.utf8)
    guard bytes.first != UInt8(ascii: "$"), bytes.first != UInt8(ascii: "_"), bytes.count > 13 else { return field }
    let end = bytes[13...].firstIndex { !hashCharacters.contains($0) } ?? bytes.count
    return String(decoding: bytes[..<end], as: UTF8.self)
  }
}

/// The hash schemes of crypt(5).
enum HashScheme {
  /// Prefix and name.
  private static let prefixes: [(prefix: String, name: String)] = [
    ("$y$", "yescrypt"), ("$gy$", "gostYescrypt"), ("$7$", "scrypt"), ("$2a$", "bcrypt"), ("$2b$", "bcrypt"),
    ("$2x$", "bcrypt"), ("$2y$", "bcrypt"), ("$6$", "sha512crypt"), ("$5$", "sha256crypt"), ("$sha1", "sha1crypt"),
    ("$md5", "sunmd5"), ("$1$", "md5crypt"), ("$3$", "nt"),
  ]

  static func classify(_ hash: String) -> PasswordField {
    HashMemory.shared.field(of: hash) { name(of: hash).map { tried(hash, $0) } ?? withoutPrefix(hash) }
  }

  static func name(of hash: String) -> String? { prefixes.first { hash.hasPrefix($0.prefix) }?.name }

  private static func withoutPrefix(_ hash: String) -> PasswordField {
    let count = hash.utf8.count
    if hash.hasPrefix("_"), count == 20 { return tried(hash, "bsdicrypt") }
    guard !hash.hasPrefix("$"), PasswordField.isHashText(hash.utf8) else { return PasswordField(.unmatchable) }
    if count == 13 { return tried(hash, "descrypt") }
    // A segment of eleven characters for each eight of the password; the empty one has a single segment.
    if count > 13, count % 11 == 2 { return PasswordField(.set, scheme: "bigcrypt") }
    return PasswordField(.unmatchable)
  }

  /// Lets the C library hash the empty password. What it makes of the field's setting also tells whether any password
  /// could ever give the field.
  private static func tried(_ hash: String, _ name: String) -> PasswordField {
    guard HashCost.isBearable(hash, name) else { return PasswordField(tooCostly: name) }
    guard let made = HashTrial.hashOfEmpty(hash) else { return PasswordField(.unmatchable, scheme: nil) }
    if made == hash { return PasswordField(.emptyHash, scheme: name) }
    return isSameShape(made, hash) ? PasswordField(.set, scheme: name) : PasswordField(.unmatchable, scheme: name)
  }

  /// Same length and same setting: only the part that depends on the password differs.
  private static func isSameShape(_ made: String, _ hash: String) -> Bool {
    let made = Array(made.utf8)
    let hash = Array(hash.utf8)
    guard made.count == hash.count else { return false }
    // Without a separator the setting is the first two characters.
    let setting = made.lastIndex(of: UInt8(ascii: "$")).map { $0 + 1 } ?? 2
    return made[..<setting] == hash[..<setting] && PasswordField.isHashText(hash[setting...].filter { $0 != 95 })
  }
}

/// What was found out about hashes before: trying one takes twenty milliseconds or more, and an agent examines again and
/// again.
private final class HashMemory: Sendable {
  static let shared = HashMemory()

  private struct State {
    /// By a keyed digest of the field, so that no hash stays in memory for it.
    var known: [Int: PasswordField] = [:]
    /// Hashes that take most of a second: so many at once, one more each half a minute.
    var costly = Bucket(every: 30_000, burst: 8)
  }
  private let state = Mutex(State())
  private static let limit = 1024

  func field(of hash: String, _ find: () -> PasswordField) -> PasswordField {
    var hasher = Hasher()
    hasher.combine(hash)
    let key = hasher.finalize()
    if let field = state.withLock({ $0.known[key] }) { return field }
    if let scheme = HashScheme.name(of: hash), HashCost.isHigh(hash, scheme),
      !state.withLock({ $0.costly.takeNow(Clock.boottimeMilliseconds) })
    {
      return PasswordField(tooCostly: scheme)
    }
    let field = find()
    state.withLock {
      if $0.known.count >= Self.limit { $0.known.removeAll() }
      $0.known[key] = field
    }
    return field
  }
}

/// How long a hash may take, about a second: fields are under the control of whoever writes shadow(5), and tools that set
/// up machines ask for much (656,000 rounds of sha512crypt). A malformed setting costs nothing, for the library refuses it.
enum HashCost {
  /// Whether it may be tried at all.
  static func isBearable(_ hash: String, _ scheme: String) -> Bool { isWithin(hash, scheme, factor: 1) }

  /// More than a fifth of a second, so that a file full of them takes long.
  static func isHigh(_ hash: String, _ scheme: String) -> Bool { !isWithin(hash, scheme, factor: 4) }

  /// Whether the hash takes at most about a second, divided by `factor`.
  private static func isWithin(_ hash: String, _ scheme: String, factor: Int) -> Bool {
    guard hash.utf8.count <= 512 else { return false }
    let parts = hash.split(separator: "$", omittingEmptySubsequences: false).map(String.init)
    let setting = parts.count > 2 ? parts[2] : ""
    let doublings = factor.trailingZeroBitCount
    switch scheme {
    case "sha512crypt", "sha256crypt": return rounds(parts, default: 5000) <= 1_000_000 / factor
    case "sunmd5":
      return rounds(hash.split { $0 == "$" || $0 == "," }.map(String.init), default: 0) <= 200_000 / factor
    case "sha1crypt": return number(setting) <= 600_000 / factor
    case "bcrypt": return number(setting) <= 14 - doublings
    case "yescrypt", "gostYescrypt": return isBearableYescrypt(Array(setting.utf8), 16 - doublings)
    case "scrypt": return isBearableScrypt(Array(setting.utf8), 16 - doublings)
    case "bsdicrypt": return count(Array(hash.utf8)[1..<5]) <= 400_000 / factor
    default: return true
    }
  }

  /// Digits too many for an integer are too many.
  private static func number(_ text: some StringProtocol) -> Int {
    let digits = text.prefix { $0.isNumber }
    return digits.isEmpty ? 0 : Int(digits) ?? .max
  }

  private static func rounds(_ parts: [String], default standard: Int) -> Int {
    let label = "rounds="
    guard let part = parts.first(where: { $0.hasPrefix(label) }) else { return standard }
    return number(part.dropFirst(label.utf8.count))
  }

  /// Value of one character of crypt's alphabet.
  private static func value(_ byte: UInt8) -> Int? {
    switch byte {
    case 46...57: Int(byte) - 46
    case 65...90: Int(byte) - 65 + 12
    case 97...122: Int(byte) - 97 + 38
    default: nil
    }
  }

  private static func count(_ bytes: some Sequence<UInt8>) -> Int {
    bytes.enumerated().reduce(0) { $0 | (value($1.element) ?? 63) << (6 * $1.offset) }
  }

  /// `j9T`: flavour, log2 of the cost less one, block size less one; anything longer sets further parameters.
  private static func isBearableYescrypt(_ setting: [UInt8], _ limit: Int) -> Bool {
    guard setting.count >= 3, let cost = value(setting[1]), let block = value(setting[2]) else { return true }
    return setting.count == 3 && cost <= limit && block <= 31
  }

  /// One character of log2 of the cost, then five each of block size and parallelism.
  private static func isBearableScrypt(_ setting: [UInt8], _ limit: Int) -> Bool {
    guard setting.count >= 11, let cost = value(setting[0]) else { return true }
    return cost <= limit && count(setting[1..<6]) <= 32 && count(setting[6..<11]) <= 2
  }
}
