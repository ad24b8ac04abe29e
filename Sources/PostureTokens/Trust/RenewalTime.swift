import Posture

/// When a device asks for a new credential: once less than a third of the life of all that its credential stands on is
/// left, or when a trust document names another issuer. The devices of a site that were enrolled together are spread over
/// the first quarter of that third, or over a day.
public struct RenewalTime: Hashable, Sendable {
  private static let day: Int64 = 86_400

  /// Seconds since the epoch.
  public let due: Int64
  /// Another issuer is at work: asked for once, for it may be one that does not answer.
  public let isForIssuer: Bool

  /// - Parameter share: 0 to 1, this device's place among the others.
  public init(of credential: Credential, under trust: TrustStore, share: Double) {
    let issued = credential.claims.issuedAt
    let ends = [credential.grant.expires, credential.issuer?.grant.expires, trust.anchors.end(of: credential.root)]
    let third = max(0, ends.compactMap(\.self).min()! - issued) / 3
    let regular = issued + 2 * third + Int64(Double(third / 4) * share)
    guard let token = trust.token, let document = trust.current, token.kid != credential.issuer?.kid,
      document.issuedAt >= issued
    else {
      due = regular
      isForIssuer = false
      return
    }
    let early = document.issuedAt + Int64(Double(min(Self.day, third / 4)) * share)
    due = min(early, regular)
    isForIssuer = early < regular
  }

  public func isDue(at moment: Moment) -> Bool { moment.isPast(due) }
}
