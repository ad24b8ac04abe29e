public import Posture

/// Why a token is not accepted: the first thing that is wrong. The shape comes before the header, the header before the
/// signature, the signature before the claims, and these before who may say them.
public struct TokenError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: String, Sendable, CaseIterable {
    // The shape.
    /// More bytes than ``TokenKind/sizeLimit`` of its kind.
    case tooLarge
    /// Not three parts that a dot separates: JSON serialization, JWE, a missing or an additional part.
    case notCompact
    /// No canonical base64url: padding, the other alphabet, space, left-over bits.
    case base64
    // The header.
    /// No JSON object, or a duplicate member.
    case header
    /// `crit`: nothing critical is understood here.
    case headerCritical
    /// `jwk`, `jku`, `x5u`, `x5c` and the like: a token does not say which key to trust.
    case headerKey
    /// A member other than `alg`, `typ` and `kid`.
    case headerMember
    /// Other than ES256.
    case algorithm
    /// `typ` is none of ours.
    case type
    /// `typ` is ours and does not belong here.
    case typeNotHere
    /// No thumbprint.
    case kid
    // The signature.
    /// Other than 64 bytes.
    case signatureSize
    /// Made by another key, or of other bytes.
    case signature
    // What was signed.
    /// No JSON object as we accept it.
    case payload
    /// ``ClaimError``.
    case claims
    /// No point of the curve.
    case key
    // Who may say it, and where.
    /// Not one of our topics, or not of this site.
    case topic
    /// The key (kid) is not known yet, or no longer.
    case unknownKey
    /// The root (kid) that it goes back to is not known here.
    case unknownRoot
    /// `iss` is not whom the key belongs to.
    case issuer
    /// The signer's credential is for something else.
    case role
    /// `iss`, `sub` or `aud` do not fit the topic.
    case subject
    /// Not for this device, or for a group that the signer has no say in.
    case audience
    /// More than root, issuer, credential.
    case depth
    /// The key was taken back.
    case revoked
    case expired
    case notYetValid
    // Versions.
    /// A `ver` below one that was seen.
    case rollback
    /// Another document under a `ver` that was seen.
    case fork
  }

  public let code: Code
  /// For the log: which member, which claim, which key.
  public let detail: String?
  /// What ``Code/claims`` stands for.
  public let claim: ClaimError?

  public init(_ code: Code, _ detail: String? = nil) {
    self.code = code
    self.detail = detail
    claim = nil
  }

  public init(_ error: ClaimError) {
    code = .claims
    detail = error.description
    claim = error
  }

  public var description: String {
    detail.map { "token refused: \(code.rawValue) (\($0))" } ?? "token refused: \(code.rawValue)"
  }
}
