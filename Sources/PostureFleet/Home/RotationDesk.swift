import Glibc
public import Posture
import PosturePlatform
import PostureTokens

/// Puts new keys in the place of old ones. Both are good at the same time, until everybody has heard of the new one.
public struct RotationDesk {
  /// The old key, which stays good until then, and the new one.
  public struct Change: Hashable, Sendable {
    public let old: String
    public let new: String
    public let oldUntil: Int64
  }

  private let home: Home

  public init(_ home: Home) { self.home = home }

  // MARK: Roles

  /// New keys for a controller, policy signer or monitor. They are made and authorized first, then `publish` has to bring
  /// the trust document to the broker, and only then do they take the place of the old ones. Where it fails, the next
  /// call goes on from there.
  public func rotate(_ role: Role, at now: Int64, publish: (inout IssuerDesk) throws -> Void) throws -> Change {
    guard [.controller, .policy, .monitor].contains(role) else {
      throw HomeError(.refused, "\(role.rawValue): its key is not changed this way")
    }
    let files = RoleFiles(home: home, role: role)
    let change = try locked { try authorize(files, at: now) }
    if role != .monitor {
      var desk = try IssuerDesk(home)
      try publish(&desk)
    }
    try locked {
      // Another process may have done it meanwhile.
      if try files.next()?.key.kid == change.new { try files.activate() }
    }
    return change
  }

  private func locked<Result>(_ body: () throws -> Result) throws -> Result {
    try home.locked(Home.File.trustFolder, body)
  }

  /// The new keys beside the old ones, and in the next trust document where the role is one that it names.
  private func authorize(_ files: RoleFiles, at now: Int64) throws -> Change {
    let old = try Identity(files.role, in: home)
    var desk = try IssuerDesk(home)
    let end = try desk.grant(old.credential, at: now).expires
    if try files.next() == nil { try prepare(files, old, desk, at: now) }
    guard let next = try files.next() else { throw HomeError(.damaged, "\(files.role.rawValue): no new key") }
    if files.role != .monitor, desk.authorize(next.credential) { try desk.signNext(at: now) }
    return Change(old: old.key.publicKey.kid, new: next.key.kid, oldUntil: end)
  }

  /// As long a life as the old one had.
  private func prepare(_ files: RoleFiles, _ old: Identity, _ desk: IssuerDesk, at now: Int64) throws {
    let grant = try desk.grant(old.credential, at: now)
    let key = try FileKey.generate()
    let until = now + (grant.expires - grant.notBefore)
    let credential = try desk.credential(
      Grant(
        subject: grant.subject, role: grant.role, groups: grant.groups, key: key.publicKey.jwk,
        notBefore: now - Moment.leeway, expires: until), protection: .file, at: now)
    try files.save(key, credential, try authority(), at: now, until: until, isNext: true)
  }

  private func authority() throws -> CertificateAuthority {
    try CertificateAuthority(
      key: try Identity.key(home.path(Home.File.authorityKey)),
      certificate: try Certificate(pem: try Home.read(text: home.path(Home.File.authority))))
  }

  // MARK: The issuer

  /// A new issuer, signed by the root. What the old one signed stays good until that ends or is revoked, and devices ask
  /// for a new credential once a trust document names the new issuer.
  public func rotateIssuer(rootKey: String? = nil, at now: Int64) throws -> Change {
    try locked { try replaceIssuer(rootKey, at: now) }
  }

  private func replaceIssuer(_ rootKey: String?, at now: Int64) throws -> Change {
    let old = try Identity(.issuer, in: home)
    let desk = try IssuerDesk(home)
    let root = try root(rootKey, desk, at: now)
    let grant = try desk.grant(old.credential, at: now)
    let key = try FileKey.generate()
    let until = now + (grant.expires - grant.notBefore)
    let credential = try root.issuer(old.party, key: key.publicKey.jwk, at: now, until: until)
    let files = RoleFiles(home: home, role: .issuer)
    try files.save(key, credential, try authority(), at: now, until: until, isNext: true)
    try files.activate()
    try renew(at: now)
    return Change(old: old.key.publicKey.kid, new: key.publicKey.kid, oldUntil: grant.expires)
  }

  // MARK: The root

  /// A new root, which the old one names as its successor; the old one stays good for `overlap` seconds. The issuer keeps
  /// its key and gets a credential of the new root.
  public func rotateRoot(rootKey: String? = nil, overlap: Int64, at now: Int64) throws -> Change {
    try locked { try replaceRoot(rootKey, overlap: overlap, at: now) }
  }

  private func replaceRoot(_ rootKey: String?, overlap: Int64, at now: Int64) throws -> Change {
    let desk = try IssuerDesk(home)
    let file = rootKey ?? home.path(Home.File.rootKey)
    let next = "\(file).next"
    // One that was interrupted is brought to its end.
    if access(next, F_OK) == 0, try Identity.key(next).publicKey.kid == desk.newestRoot(at: now) {
      let old = try Identity.key(file).publicKey.kid
      return Change(old: old, new: try install(file, at: now), oldUntil: now + overlap)
    }
    let old = try root(file, desk, at: now)
    let key = try FileKey.generate()
    let rotation = try old.rotation(
      to: key.publicKey.jwk, at: now, until: now + Grant.longestLife, previousUntil: now + overlap)
    try key.save(next)
    try desk.adopt(rotation: rotation, at: now)
    return Change(old: old.key.publicKey.kid, new: try install(file, at: now), oldUntil: now + overlap)
  }

  /// The issuer under the new root, and its key in the place of the old one.
  private func install(_ file: String, at now: Int64) throws -> String {
    let key = try Identity.key("\(file).next")
    let issuer = try Identity(.issuer, in: home)
    let grant = try IssuerDesk(home).grant(issuer.credential, at: now)
    let credential = try Root(key: key).issuer(
      issuer.party, key: grant.key, at: now, until: now + (grant.expires - grant.notBefore))
    try Home.write(credential, to: home.path("issuer/credential.jwt"))
    try renew(at: now)
    guard rename(file, "\(file).old") == 0, rename("\(file).next", file) == 0 else {
      throw HomeError(.system, SystemError.current("rename", file).description)
    }
    return key.publicKey.kid
  }

  private func renew(at now: Int64) throws {
    var desk = try IssuerDesk(home)
    try desk.signNext(at: now)
  }

  /// The key of the newest root.
  private func root(_ file: String?, _ desk: IssuerDesk, at now: Int64) throws -> Root {
    let file = file ?? home.path(Home.File.rootKey)
    let key: FileKey
    do throws(HomeError) { key = try Identity.key(file) } catch {
      guard error.code == .missing else { throw error }
      throw HomeError(.missing, "the root's key is needed for this (--root-key FILE): \(error)")
    }
    guard try desk.newestRoot(at: now) == key.publicKey.kid else {
      throw HomeError(.refused, "\(file): not the key of this site's present root")
    }
    return Root(key: key)
  }
}
