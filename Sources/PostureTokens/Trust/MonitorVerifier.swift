public import Posture

/// What a monitor or a controller believes of the devices of one site, in whatever order keys, trust and messages come.
///
/// Whether a message was signed by the key it names is settled once. Whether that key is good is asked when the answer is
/// shown (``standing(of:at:)``), so the order of arrival makes no difference in the end.
public struct MonitorVerifier: Sendable {
  public let site: Name
  public private(set) var trust: TrustStore
  public private(set) var revoked = RevokedKeys()
  private var credentials: [String: Credential] = [:]
  private var waiting = WaitingRoom()
  private let limits: JSONParser.Limits

  /// `limits`: how much of the claims is kept, where not all of them are wanted.
  public init(trust: TrustStore, limits: JSONParser.Limits = .message) {
    site = trust.site
    self.trust = trust
    self.limits = limits
  }

  /// Signed by the key of the device on whose topic it came.
  public struct Message: Hashable, Sendable {
    public let topic: Topic
    public let device: Name
    public let content: Content
    public let token: Token
    /// ``Token/digest``, which is asked for more than once.
    public let digest: String
    public var kid: String { token.kid }

    public enum Content: Hashable, Sendable {
      case report(ReportClaims)
      case event(EventClaims)
      case presence(PresenceClaims)
      case progress(ProgressClaims)
      case refusal(RefusalClaims)
    }
  }

  public enum Outcome: Hashable, Sendable {
    case message(Message)
    /// Kept until the credential of this key comes.
    case awaitingKey(topic: Topic, kid: String)
    /// Kept until a trust document names this root.
    case awaitingRoot(topic: Topic, kid: String)
    case credential(Credential, token: [UInt8])
    case trust(TrustStore.Acceptance)
    case revoked(part: Int)
    case rejected(topic: String, TokenError)
  }

  /// Whether a key may be believed now. Anything but `good` is never shown as a fresh pass.
  public enum Standing: String, Sendable, CaseIterable {
    case good
    /// No credential of this key has come.
    case awaitingKey
    case expired, notYetValid
    /// The key itself, or its issuer.
    case revoked
    /// No trust document yet, or one past its end.
    case trustMissing, trustStale
    /// The trust document names a list of revoked keys that has not come in full.
    case revocationUnknown
  }

  // MARK: What comes in

  /// Takes one message. A credential may set others free that waited for it: the outcomes are in order.
  public mutating func receive(_ bytes: [UInt8], on topic: String, at moment: Moment) -> [Outcome] {
    guard let place = Topic(topic) else { return [.rejected(topic: topic, TokenError(.topic))] }
    return receive(bytes, on: place, at: moment)
  }

  public mutating func receive(_ bytes: [UInt8], on topic: Topic, at moment: Moment) -> [Outcome] {
    guard topic.site == site else { return [.rejected(topic: topic.text, TokenError(.topic))] }
    do throws(TokenError) { return try take(bytes, on: topic, at: moment) } catch {
      guard error.code == .unknownRoot, topic.place != .trust else { return [.rejected(topic: topic.text, error)] }
      let kid = error.detail ?? ""
      waiting.add(bytes, on: topic, for: .root(kid))
      return [.awaitingRoot(topic: topic, kid: kid)]
    }
  }

  private mutating func take(
    _ bytes: [UInt8], on topic: Topic, at moment: Moment
  ) throws(TokenError) -> [Outcome] {
    switch topic.place {
    case .keys(let device): return try keys(bytes, of: device)
    case .trust: return try accept(trust: bytes, at: moment)
    case .revoked: return [try revokedPart(bytes, 0)]
    case .revokedPart(let number): return [try revokedPart(bytes, number)]
    case .report, .event, .presence, .reply: return [try message(bytes, on: topic)]
    case .recheckDevice, .recheckGroup, .recheckAll, .policy, .groupPolicy, .request, .renewal:
      throw TokenError(.topic, "not for monitors")
    }
  }

  private mutating func message(_ bytes: [UInt8], on topic: Topic) throws(TokenError) -> Outcome {
    let unverified = try TokenDecoder.decode(bytes, kinds: topic.kinds)
    guard let credential = credentials[unverified.kid] else {
      waiting.add(bytes, on: topic, for: .key(unverified.kid))
      return .awaitingKey(topic: topic, kid: unverified.kid)
    }
    return .message(try message(unverified, on: topic, by: credential))
  }

  private func message(
    _ unverified: UnverifiedToken, on topic: Topic, by credential: Credential
  ) throws(TokenError) -> Message {
    guard let device = topic.device, credential.grant.subject == Party(topic.site, device) else {
      throw TokenError(.subject, topic.text)
    }
    let token = try unverified.verified(by: credential.key, limits: limits)
    let (content, issuer) = try Self.content(of: token)
    guard issuer == credential.grant.subject else { throw TokenError(.issuer, issuer.urn) }
    return Message(topic: topic, device: device, content: content, token: token, digest: token.digest)
  }

  private static func content(of token: Token) throws(TokenError) -> (Message.Content, Party) {
    switch token.kind {
    case .report:
      let claims = try token.claims(ReportClaims.init(claims:))
      return (.report(claims), claims.issuer)
    case .event:
      let claims = try token.claims(EventClaims.init(claims:))
      return (.event(claims), claims.issuer)
    case .presence:
      let claims = try token.claims(PresenceClaims.init(claims:))
      return (.presence(claims), claims.issuer)
    case .progress:
      let claims = try token.claims(ProgressClaims.init(claims:))
      return (.progress(claims), claims.issuer)
    case .refusal:
      let claims = try token.claims(RefusalClaims.init(claims:))
      return (.refusal(claims), claims.issuer)
    case .command, .policy, .credential, .trust, .revoked, .request, .renewal:
      throw TokenError(.typeNotHere, token.kind.rawValue)
    }
  }

  private mutating func keys(_ bytes: [UInt8], of device: Name) throws(TokenError) -> [Outcome] {
    let credential = try trust.anchors.credential(bytes)
    guard credential.grant.role == .device else { throw TokenError(.role, credential.grant.role.rawValue) }
    guard credential.grant.subject == Party(site, device) else { throw TokenError(.subject, device.description) }
    // The broker may bring an older one again.
    let known = credentials[credential.kid]
    if known.map({ $0.claims.issuedAt < credential.claims.issuedAt }) ?? true {
      credentials[credential.kid] = credential
    }
    var outcomes: [Outcome] = [.credential(credential, token: bytes)]
    for (bytes, topic) in waiting.release(.key(credential.kid)) {
      do throws(TokenError) { outcomes.append(try message(bytes, on: topic)) } catch {
        outcomes.append(.rejected(topic: topic.text, error))
      }
    }
    return outcomes
  }

  /// A new document may name the root that credentials and lists were waiting for.
  private mutating func accept(trust bytes: [UInt8], at moment: Moment) throws(TokenError) -> [Outcome] {
    let rootsBefore = trust.anchors.rotations.count
    var outcomes: [Outcome] = [.trust(try trust.accept(bytes, at: moment))]
    guard trust.anchors.rotations.count > rootsBefore else { return outcomes }
    for (bytes, topic) in waiting.releaseRoots() {
      outcomes += receive(bytes, on: topic, at: moment)
    }
    return outcomes
  }

  private mutating func revokedPart(_ bytes: [UInt8], _ number: Int) throws(TokenError) -> Outcome {
    let unverified = try TokenDecoder.decode(bytes, kinds: [.revoked])
    let claims = try unverified.unverifiedClaims(RevokedClaims.init(claims:))
    guard claims.issuer.site == site, claims.part == number else { throw TokenError(.subject) }
    let issuer = try trust.anchors.issuer(claims.issuerCredential)
    guard issuer.grant.subject == claims.issuer else { throw TokenError(.issuer) }
    let token = try unverified.verified(by: issuer.key)
    try revoked.add(claims, digest: SHA256.digest(of: token.payload))
    return .revoked(part: number)
  }

  // MARK: What is asked

  public func credential(_ kid: String) -> Credential? { credentials[kid] }

  /// The trust document names a list of revoked keys that has not come in full.
  public var lacksRevokedList: Bool { revoked.contains("", as: trust.current?.revokedList) == nil }

  /// Messages that wait for a credential, and how many were dropped for want of room.
  public var waitingCount: (held: Int, dropped: Int) { (waiting.count, waiting.dropped) }

  public func standing(of kid: String, at moment: Moment) -> Standing {
    guard let credential = credentials[kid] else { return .awaitingKey }
    if trust.isRevoked(kid) || credential.issuer.map({ trust.isRevoked($0.kid) }) == true { return .revoked }
    if revoked.contains(kid, as: trust.current?.revokedList) == true { return .revoked }
    do throws(TokenError) { try credential.check(at: moment) } catch {
      return error.code == .notYetValid ? .notYetValid : .expired
    }
    guard trust.anchors.isGood(credential.root, at: moment) else { return .expired }
    guard let current = trust.current else { return .trustMissing }
    if moment.isPast(current.expires) { return .trustStale }
    return revoked.contains(kid, as: current.revokedList) == nil ? .revocationUnknown : .good
  }

  /// What has to survive a restart: the rest comes again, retained.
  public var saved: JSON { trust.saved }
}
