import Glibc
import Posture
import PosturePlatform
import PostureTokens

/// The files of a role in the operator's folder: signing key, credential, TLS key and certificate.
struct RoleFiles {
  private static let next = ".next"
  let home: Home
  let role: Role

  private var names: [String] { ["\(role.rawValue).key", "credential.jwt", "tls.key", "tls.pem"] }
  private func path(_ name: String) -> String { home.path("\(role.rawValue)/\(name)") }

  /// A signing key with its credential, and a TLS key with a certificate in the role's name: the broker knows roles.
  /// `isNext`: beside those in force, which ``activate()`` puts them in the place of.
  func save(
    _ key: FileKey, _ credential: String, _ authority: CertificateAuthority, at now: Int64, until: Int64,
    isNext: Bool = false
  ) throws {
    let suffix = isNext ? Self.next : ""
    let tls = try FileKey.generate()
    let certificate = try authority.sign(
      tls, commonName: Name(role.rawValue)!, site: home.site, usage: .client, at: now, until: until)
    try tls.save(path("tls.key") + suffix)
    try Home.write(try certificate.pem(), to: path("tls.pem") + suffix)
    try Home.write(credential, to: path("credential.jwt") + suffix)
    // Last: with it the four are whole.
    try key.save(path("\(role.rawValue).key") + suffix)
  }

  /// Those that wait for ``activate()``; nil where there are none, or not all of them.
  func next() throws(HomeError) -> (key: PublicKey, credential: String)? {
    guard access(path("\(role.rawValue).key") + Self.next, F_OK) == 0 else { return nil }
    return (
      try Identity.key(path("\(role.rawValue).key") + Self.next).publicKey,
      try Home.read(text: path("credential.jwt") + Self.next)
    )
  }

  func activate() throws(HomeError) {
    // The key goes last, as it came: until then the same is done again.
    for name in names.reversed() {
      guard rename(path(name) + Self.next, path(name)) == 0 || errno == ENOENT else {
        throw HomeError(.system, SystemError.current("rename", path(name)).description)
      }
    }
  }
}
