import Posture
import PostureMQTT

/// A signed token on its way to its topic.
struct Letter {
  let topic: Topic
  let kind: TokenKind
  let token: String

  /// `event` tokens are of use for a day, `reply` for five minutes; a report as long as it says itself.
  func publication() -> Publication {
    Publication(
      topic.text, text: token, retain: topic.isRetained, expiry: expiry, contentType: contentType)
  }

  private var contentType: String {
    let type = "application/\(kind.rawValue)"
    return kind == .report ? "\(type); eat_profile=\"\(ReportClaims.profile)\"" : type
  }

  private var expiry: UInt32? {
    switch topic.place {
    case .event: 86_400
    case .reply: 300
    case .report: Self.life(of: token)
    default: nil
    }
  }

  /// Seconds from `iat` to `exp` by the token's own word; nil where it has no end.
  private static func life(of token: String) -> UInt32? {
    let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(Substring(parts[1])),
      let claims = try? JSONParser.parse(payload),
      let start = claims["iat"]?.integer, let end = claims["exp"]?.integer, end > start
    else { return nil }
    return UInt32(clamping: end - start)
  }
}
