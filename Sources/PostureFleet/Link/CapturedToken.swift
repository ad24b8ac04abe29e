public import Posture
public import PostureTokens

/// A token from a file or a log, verified as if it had come from the broker.
public struct CapturedToken: Sendable {
  public let kind: TokenKind
  /// Whose topic it comes on: the subject of a credential, else who says that it said this. Believed only once the token
  /// is verified.
  public let party: Party
  public let bytes: [UInt8]

  /// Reads who it claims to be from.
  public init(_ text: String) throws(TokenError) {
    bytes = Array(text.utf8)
    let token = try TokenDecoder.decode(bytes, kinds: TokenKind.allCases)
    kind = token.kind
    let claim = kind == .credential ? "sub" : "iss"
    guard let claims = try? token.unverifiedClaims(), let party = claims[claim]?.string.flatMap(Party.init(urn:)) else {
      throw TokenError(.issuer)
    }
    self.party = party
  }

  /// The token of a line: alone, or as member `token` of a JSON object (what `export` writes); nil in an empty line.
  public static func text(in line: String) -> String? {
    let line = line.trimmeds
    guard line.hasPrefix("{") else { return line.isEmpty ? nil : line }
    return (try? JSONParser.parse(line))?["token"]?.string ?? line
  }

  /// The topic that such a token comes on.
  public var topic: Topic? {
    let device = party.name
    let place: Topic.Place? =
      switch kind {
      case .report: .report(device)
      case .event: .event(device)
      case .presence: .presence(device)
      case .progress, .refusal: .reply(device)
      case .credential: .keys(device)
      case .trust: .trust
      case .revoked: .revoked
      case .command, .policy, .request, .renewal: nil
      }
    return place.map { Topic(party.site, $0) }
  }
}

extension String {
  fileprivate var trimmeds: String {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\r" }
    let tail = drop(while: isSpace)
    return String(tail.reversed().drop(while: isSpace).reversed())
  }
}
