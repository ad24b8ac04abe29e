import Glibc
public import Posture
import PosturePlatform
public import PostureMQTT
public import PostureTokens

/// The issuer at work in its folder: credentials, certificates, and the trust documents of the site.
public struct IssuerDesk {
  public static let day: Int64 = 86_400

  public let home: Home
  let issuer: Issuer
  public private(set) var state: TrustState

  public init(_ home: Home) throws(HomeError) {
    self.home = home
    let identity = try Identity(.issuer, in: home)
    issuer = Issuer(party: identity.party, key: identity.key, credential: identity.credential)
    let file = home.path(Home.File.trustState)
    let json = try Home.read(json: file)
    do throws(ClaimError) { state = try TrustState(json: json) } catch {
      throw HomeError(.damaged, "\(file): \(error)")
    }
  }

  // MARK: Credentials

  /// Signs what a key of this site may do.
  public func credential(_ grant: Grant, protection: KeyProtection, at now: Int64) throws(HomeError) -> String {
    do throws(KeyError) { return try issuer.credential(grant, protection: protection, at: now) } catch {
      throw HomeError(.refused, error.description)
    }
  }

  /// Puts a controller or policy signer on the list of the next document; false for one that is on it.
  mutating func authorize(_ credential: String) -> Bool {
    guard !state.authorized.contains(credential) else { return false }
    state.authorized.append(credential)
    return true
  }

  /// What a credential of this site grants.
  func grant(_ credential: String, at now: Int64) throws(HomeError) -> Grant {
    var anchors = try Self.anchors(home, state.rotations, at: now)
    do throws(TokenError) { return try anchors.credential(Array(credential.utf8)).grant } catch {
      throw HomeError(.damaged, "\(error)")
    }
  }

  // MARK: Roots

  func newestRoot(at now: Int64) throws(HomeError) -> String? {
    try Self.anchors(home, state.rotations, at: now).newest
  }

  /// A rotation for the next document to name. Who pinned a root that is more than ``TrustClaims/mostRotations`` steps
  /// behind has to be enrolled anew.
  func adopt(rotation: String, at now: Int64) throws(HomeError) {
    var next = self
    next.state.rotations.append(rotation)
    if next.state.rotations.count > TrustClaims.mostRotations { next.state.rotations.removeFirst() }
    _ = try Self.anchors(home, next.state.rotations, at: now)
    try next.save()
  }

  // MARK: The trust document

  /// Signs the next version and keeps it; ``publish()`` brings it to the broker.
  public mutating func renew(at now: Int64, life: Int64? = nil) throws {
    try changing { desk in try desk.signNext(at: now, life: life) }
  }

  /// Upon what the folder says by now: another process may have signed since this desk was opened.
  private mutating func changing<Result>(_ body: (inout IssuerDesk) throws -> Result) throws -> Result {
    let home = home
    return try home.locked(Home.File.trustFolder) {
      self = try IssuerDesk(home)
      return try body(&self)
    }
  }

  /// For whoever has the folder locked.
  mutating func signNext(at now: Int64, life: Int64? = nil) throws(HomeError) {
    state.life = life ?? state.life
    state.version += 1
    state.revokedKeys.removeAll { $0.expires <= now }
    let list = try signRevoked(at: now)
    let grants = try grants(at: now)
    let token: String
    do throws(KeyError) {
      token = try issuer.trust(
        version: state.version, at: now, until: now + state.life, authorized: grants,
        revokedAuthorities: state.revokedAuthorities, revokedList: list, rootRotations: state.rotations)
    } catch { throw HomeError(.refused, error.description) }
    try Home.write(token, to: home.path(Home.File.trust))
    try save()
  }

  private func save() throws(HomeError) { try Home.write(state.json.text, to: home.path(Home.File.trustState)) }

  /// Those of the authorized that are still within their dates.
  public func grants(at now: Int64) throws(HomeError) -> [Grant] {
    var anchors = try Self.anchors(home, state.rotations, at: now)
    var grants: [Grant] = []
    for text in state.authorized {
      do throws(TokenError) {
        let credential = try anchors.credential(Array(text.utf8))
        if credential.grant.expires > now, !state.revokedAuthorities.contains(credential.kid) {
          grants.append(credential.grant)
        }
      } catch { throw HomeError(.damaged, "\(home.path(Home.File.trustState)): \(error)") }
    }
    return grants
  }

  static func anchors(_ home: Home, _ rotations: [String], at now: Int64) throws(HomeError) -> TrustAnchors {
    let root = try home.root()
    var anchors: TrustAnchors
    do throws(KeyError) { anchors = try TrustAnchors(root: root) } catch {
      throw HomeError(.damaged, "\(home.path(Home.File.root)): \(error)")
    }
    do throws(TokenError) { try anchors.accept(rotations: rotations, at: Moment(now)) } catch {
      throw HomeError(.damaged, "\(error)")
    }
    return anchors
  }

  private mutating func signRevoked(at now: Int64) throws(HomeError) -> TrustClaims.RevokedList? {
    // Once there was a list, an empty one has to take its place.
    guard !state.revokedKeys.isEmpty || state.revokedVersion > 0 else { return nil }
    state.revokedVersion = state.version
    let tokens: [String]
    let list: TrustClaims.RevokedList
    do throws(Issuer.RevocationError) {
      (tokens, list) = try issuer.revoked(state.revokedKeys.map(\.kid), version: state.revokedVersion, at: now)
    } catch { throw HomeError(.refused, "\(error)") }
    for (part, token) in tokens.enumerated() { try keep(token, part) }
    state.revokedParts = tokens.count
    return list
  }

  private func keep(_ token: String, _ part: Int) throws(HomeError) {
    try Home.write(token, to: home.path("trust/revoked-\(part).jwt"))
  }

  /// The last document as everybody else reads it.
  public func store(at now: Int64) throws(HomeError) -> TrustStore {
    let root = try home.root()
    let text = try Home.read(text: home.path(Home.File.trust))
    var store: TrustStore
    do throws(KeyError) { store = try TrustStore(site: home.site, root: root) } catch {
      throw HomeError(.damaged, "\(home.path(Home.File.root)): \(error)")
    }
    do throws(TokenError) { try store.accept(Array(text.utf8), at: Moment(now)) } catch {
      throw HomeError(.damaged, "\(home.path(Home.File.trust)): \(error)")
    }
    return store
  }

  // MARK: Revoking

  public enum Revocation: Hashable, Sendable {
    case device(name: String, kid: String)
    case authority(name: String, kid: String)
  }

  /// Takes back a device's key, or that of a controller or policy signer. `who` is a name or a kid.
  public mutating func revoke(_ who: String, at now: Int64) throws -> [Revocation] {
    try changing { desk in try desk.takeBack(who, at: now) }
  }

  private mutating func takeBack(_ who: String, at now: Int64) throws(HomeError) -> [Revocation] {
    let devices = try DeviceRecord.all(in: home).filter { $0.name.description == who || $0.kid == who }
    let revocations = devices.isEmpty ? try revokeAuthority(who, at: now) : devices.map { revoke($0) }
    guard !revocations.isEmpty else {
      throw HomeError(
        .missing, "\(who): no device, and no controller or policy signer that is obeyed, has this name or kid")
    }
    try signNext(at: now)
    return revocations
  }

  private mutating func revoke(_ device: DeviceRecord) -> Revocation {
    if !state.revokedKeys.contains(where: { $0.kid == device.kid }) {
      state.revokedKeys.append(
        TrustState.RevokedKey(kid: device.kid, expires: device.expires, name: device.name.description))
    }
    return .device(name: device.name.description, kid: device.kid)
  }

  private mutating func revokeAuthority(_ who: String, at now: Int64) throws(HomeError) -> [Revocation] {
    var found: [Revocation] = []
    for grant in try grants(at: now) {
      let kid = PublicKey.thumbprint(of: grant.key)
      let name = grant.subject?.name.description ?? "root"
      guard name == who || kid == who else { continue }
      state.revokedAuthorities.append(kid)
      found.append(.authority(name: name, kid: kid))
    }
    return found
  }

  /// Takes back another issuer's key. Issuers are on no list, so any kid is one.
  public mutating func revokeIssuer(_ kid: String, at now: Int64) throws -> Revocation {
    guard kid.utf8.count == 43, Base64URL.decode(kid) != nil else { throw HomeError(.refused, "\(kid): not a kid") }
    return try changing { desk in
      guard kid != desk.issuer.key.publicKey.kid else {
        throw HomeError(.refused, "this is the issuer's own key: another issuer has to revoke it")
      }
      if !desk.state.revokedAuthorities.contains(kid) { desk.state.revokedAuthorities.append(kid) }
      try desk.signNext(at: now)
      return .authority(name: "issuer", kid: kid)
    }
  }

  // MARK: Publishing

  /// What the broker has to keep: the parts of the list first, so that no document names one that is not there.
  public func publications() throws(HomeError) -> [Publication] {
    var result: [Publication] = []
    for part in 0..<state.revokedParts {
      let token = try Home.read(text: home.path("trust/revoked-\(part).jwt"))
      result.append(publication(RevokedClaims.topic(home.site, part: part), .revoked, token))
    }
    result.append(
      publication(Topic(home.site, .trust), .trust, try Home.read(text: home.path(Home.File.trust))))
    return result
  }

  /// Brings them there.
  public mutating func publish() throws {
    let link = try OperatorLink(home, as: .issuer, subscribe: [])
    try link.waitOnline()
    try publish(over: link)
    link.close()
  }

  /// One at a time: what was signed before must not take the place of what another process has just published.
  public mutating func publish(over link: OperatorLink) throws {
    try changing { desk in
      for publication in try desk.publications() { try link.publish(publication) }
    }
  }

  private func publication(_ topic: Topic, _ kind: TokenKind, _ token: String) -> Publication {
    Publication(topic.text, text: token, retain: true, contentType: "application/\(kind.rawValue)")
  }
}
