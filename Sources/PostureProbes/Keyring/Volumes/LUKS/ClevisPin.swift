import Posture

/// What a clevis token needs: the pin named in the protected header of its JWE (clevis(1)).
indirect enum ClevisPin: Hashable, Sendable {
  case tpm2(isBoundToBootState: Bool)
  /// A server on the network.
  case tang
  case pkcs11
  /// For tests: the key lies in the token as it is.
  case null
  /// `threshold` of the others (clevis-encrypt-sss(1)).
  case shares(threshold: Int, [ClevisPin])
  case other(String)

  private static let deepest = 6
  private static let mostShares = 64
  private static let limits = JSONParser.Limits(bytes: 1 << 20, depth: 16, anyNumber: true)

  /// From a JWE as JSON.
  init?(jwe: JSON) {
    guard let protected = jwe.string ?? jwe["protected"]?.string else { return nil }
    self.init(compact: protected)
  }

  /// From a JWE in compact form: the protected header is what stands before the first dot.
  init?(compact: String) { self.init(compact: compact, depth: 0) }

  private init?(compact: String, depth: Int) {
    let header = compact.prefix { $0 != "." }
    guard depth < Self.deepest, let bytes = Base64URL.decode(header),
      let json = try? JSONParser.parse(bytes, limits: Self.limits), let clevis = json["clevis"],
      let pin = clevis["pin"]?.string
    else { return nil }
    switch pin {
    case "tpm2": self = .tpm2(isBoundToBootState: Self.isBoundToBootState(clevis["tpm2"]))
    case "tang": self = .tang
    case "pkcs11": self = .pkcs11
    case "null": self = .null
    case "sss":
      guard let shares = Self.shares(clevis["sss"], depth) else { return nil }
      self = shares
    default: self = .other(pin)
    }
  }

  private static func shares(_ json: JSON?, _ depth: Int) -> ClevisPin? {
    guard let threshold = json?["t"]?.integer, let tokens = json?["jwe"]?.array,
      (1...mostShares).contains(tokens.count),
      (1...Int64(mostShares)).contains(threshold)
    else { return nil }
    let pins = tokens.map { $0.string.flatMap { ClevisPin(compact: $0, depth: depth + 1) } ?? .other("unreadable") }
    return .shares(threshold: Int(threshold), pins)
  }

  /// `pcr_ids` is text, a number or a list.
  private static func isBoundToBootState(_ json: JSON?) -> Bool {
    guard let ids = json?["pcr_ids"] else { return false }
    return ids.string.map { !$0.isEmpty } ?? !(ids.array?.isEmpty ?? false)
  }

  /// nil where a needed pin is not known.
  var opening: Opening? {
    switch self {
    case .tpm2: return Opening([.device])
    case .tang, .null: return .always
    case .pkcs11: return Opening([.token])
    case .other: return nil
    case .shares(let threshold, let pins): return Self.opening(of: threshold, pins.map(\.opening))
    }
  }

  /// Whatever opens that many at once. An unknown one counts as one that nobody can show, unless it could decide.
  private static func opening(of threshold: Int, _ openings: [Opening?]) -> Opening? {
    let known = openings.compactMap { $0 }
    let sure = atLeast(threshold, known)
    if known.count == openings.count || sure == .always { return sure }
    return nil
  }

  private static func atLeast(_ threshold: Int, _ openings: [Opening]) -> Opening {
    // ways[k]: what opens at least k of those seen so far.
    var ways = [Opening.always] + Array(repeating: Opening.never, count: threshold)
    for opening in openings {
      for count in stride(from: threshold, through: 1, by: -1) {
        ways[count] = ways[count].or(ways[count - 1].and(opening))
      }
    }
    return ways[threshold]
  }

  /// Whether a TPM in it gives its part away whatever was booted.
  var hasUnboundTPM: Bool {
    switch self {
    case .tpm2(let isBound): !isBound
    case .shares(_, let pins): pins.contains(where: \.hasUnboundTPM)
    case .tang, .pkcs11, .null, .other: false
    }
  }

  /// Whether a server has a part in it.
  var asksNetwork: Bool {
    switch self {
    case .tang: true
    case .shares(_, let pins): pins.contains(where: \.asksNetwork)
    case .tpm2, .pkcs11, .null, .other: false
    }
  }
}
