import Posture
import PostureTokens

/// The documents of the broker that are in force: whom this device trusts, and which policy it is judged by.
struct Documents: Sendable {
  static let trustSlot = "trust"
  /// What every device demands of itself; only the root may ask for less.
  static let floor = Policy.entry

  private var verifier: DeviceVerifier

  /// Takes up what the journal kept.
  init(identity: DeviceIdentity, kept: [String: Ledger.Document]) {
    var trust = identity.trust
    if let document = kept[Self.trustSlot] {
      let saved = document.token.flatMap { try? JSONParser.parse($0, limits: .init(bytes: 1 << 20, depth: 8)) }
      trust.restore(saved ?? ["floor": .integer(document.version)])
    }
    verifier = DeviceVerifier(device: identity.party, groups: identity.groups, trust: trust)
  }

  /// An issuer's answer to this device's request; nil where its credential is in force already.
  mutating func accepting(
    renewal token: String, of current: Credential, at moment: Moment
  ) throws(AttesterError) -> (claims: RenewalClaims, credential: Credential)? {
    do throws(TokenError) { return try verifier.renewal(Array(token.utf8), of: current, at: moment) } catch {
      throw AttesterError(error)
    }
  }

  /// Seconds since the epoch that have passed for certain.
  var provenTime: Int64 { verifier.trust.provenTime }
  var trust: TrustStore { verifier.trust }

  // MARK: Trust

  /// The ledger's row for a document that replaces the one before; nil for the one that is in force already.
  func accepting(trust token: String, at moment: Moment) throws(AttesterError) -> (Documents, Ledger.Document)? {
    var next = self
    do throws(TokenError) {
      guard try next.verifier.trust.accept(Array(token.utf8), at: moment) == .accepted else { return nil }
    } catch { throw AttesterError(error) }
    let store = next.verifier.trust
    return (next, Ledger.Document(version: store.floor, digest: store.token?.digest ?? "", token: store.saved.text))
  }

  // MARK: Policy

  struct InForce: Hashable, Sendable {
    var policy: Policy
    /// nil: the built-in one.
    var version: Int64?
    var digest: String { policy.digest }
  }

  /// The ledger's slot and row for a policy that may replace the one before; nil for the one that is known already.
  func accepting(
    policy token: String, known: [String: Ledger.Document], at moment: Moment
  ) throws(AttesterError) -> (String, Ledger.Document)? {
    let verified: DeviceVerifier.VerifiedPolicy
    do throws(TokenError) { verified = try verifier.policy(Array(token.utf8), at: moment) } catch {
      throw AttesterError(error)
    }
    guard let slot = Self.slot(verified.claims.audience) else {
      throw AttesterError(.untrusted, "not for a site or group")
    }
    let document = Ledger.Document(version: verified.claims.version, digest: verified.token.digest, token: token)
    if let before = known[slot] {
      guard document.version >= before.version else {
        throw AttesterError(.rollback, "\(slot): version \(document.version) after \(before.version)")
      }
      if document.version == before.version {
        guard document.digest == before.digest else {
          throw AttesterError(.rollback, "\(slot): another document under version \(document.version)")
        }
        if before.token != nil { return nil }
      }
    }
    guard verified.isFromRoot || !verified.claims.policy.isBelow(Self.floor) else {
      throw AttesterError(.belowFloor, "\(slot): \(verified.claims.policy.name) demands less than \(Self.floor.name)")
    }
    return (slot, document)
  }

  /// Group over site over the built-in one. A document whose signer is no longer trusted, or that has ended, lapses.
  func policy(known: [String: Ledger.Document], at moment: Moment) -> InForce {
    let device = verifier.device
    let audiences = verifier.groups.map { Audience.group(site: device.site, $0) } + [.site(device.site)]
    for slot in audiences.compactMap(Self.slot) {
      guard let token = known[slot]?.token,
        // The signer's dates were good when it was taken.
        let verified = try? verifier.policy(Array(token.utf8), at: Moment(0, isTrusted: false)),
        !(verified.claims.expires.map(moment.isPast) ?? false)
      else { continue }
      return InForce(policy: verified.claims.policy, version: verified.claims.version)
    }
    return InForce(policy: Self.floor, version: nil)
  }

  private static func slot(_ audience: Audience) -> String? {
    switch audience {
    case .device: nil
    case .group(_, let group): "policy/group/\(group)"
    case .site: "policy/site"
    }
  }
}

extension AttesterError {
  init(_ error: TokenError) {
    self.init(error.code == .rollback || error.code == .fork ? .rollback : .untrusted, error.description)
  }
}
