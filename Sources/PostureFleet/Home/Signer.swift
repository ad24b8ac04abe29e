public import Posture
import PostureTokens

/// One whose signature counts at a site, with the life of its key.
public struct Signer: Hashable, Sendable {
  public let role: Role
  public let kid: String
  /// Seconds since the epoch.
  public let from: Int64
  public let until: Int64

  init(_ grant: Grant) {
    role = grant.role
    kid = PublicKey.thumbprint(of: grant.key)
    from = grant.notBefore
    until = grant.expires
  }

  /// Less than a third of its life is left.
  public func needsRotation(at now: Int64) -> Bool { now >= until - (until - from) / 3 }
}

extension IssuerDesk {
  /// The issuer, and of each role the one that is good for longest.
  public func signers(at now: Int64) throws(HomeError) -> [Signer] {
    let grants = try grants(at: now)
    let issuer = Signer(try grant(issuer.credential, at: now))
    return [issuer]
      + [Role.controller, .policy].compactMap { role in
        grants.filter { $0.role == role }.max { $0.expires < $1.expires }.map(Signer.init)
      }
  }
}
