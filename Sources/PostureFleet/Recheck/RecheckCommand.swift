public import Posture
import PosturePlatform
public import PostureMQTT
public import PostureTokens

/// A signed recheck, and how it is published.
public struct RecheckCommand: Sendable {
  public struct Options: Hashable, Sendable {
    /// Seconds for which the command is good; the gate takes at most 300.
    public var life: Int64 = 120
    /// Seconds over which the devices of a group spread their answers.
    public var spread: Int64?
    /// Seconds the asker waits.
    public var deadline: Int64?
    /// The challenge of the device's connection, for one whose clock is not trusted.
    public var challenge: String?

    public init() {}
  }

  public let claims: RecheckClaims
  public let token: String

  public init(
    _ audience: Audience, from identity: Identity, at now: Int64, _ options: Options = Options()
  ) throws(KeyError) {
    claims = RecheckClaims(
      issuer: identity.party, audience: audience, issuedAt: now, expires: now + options.life,
      id: Base64URL.encode(Random.bytes(16)), nonce: Base64URL.encode(Random.bytes(16)), challenge: options.challenge,
      sequence: Self.risingNumber, spread: options.spread, deadline: options.deadline)
    token = try TokenEncoder.encode(.command, claims.claims, with: identity.key)
  }

  /// Rises over every process that shares a key, for it is the time in microseconds.
  private static var risingNumber: Int64 { Clock.wallMicroseconds }

  public var publication: Publication {
    var publication = Publication(
      claims.audience.recheckTopic.text, text: token, expiry: UInt32(clamping: claims.life),
      contentType: "application/\(TokenKind.command.rawValue)")
    publication.correlation = Array(claims.nonce.utf8)
    return publication
  }
}
