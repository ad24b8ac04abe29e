import COpenSSL
public import Posture

/// The transport CA of a site: signs the broker's certificate and those of devices and operators. It has no say in what
/// messages are believed.
public struct CertificateAuthority: Sendable {
  public enum Usage: Hashable, Sendable {
    /// Of a broker: its host names and addresses, as clients will dial them.
    case server(names: [String])
    case client
  }

  public let key: FileKey
  public let certificate: Certificate

  public init(key: FileKey, certificate: Certificate) throws(CertificateError) {
    guard certificate.belongs(to: key) else { throw CertificateError(.key, "not the key of the certificate") }
    self.key = key
    self.certificate = certificate
  }

  /// A new one that signs itself. Dates in seconds since the epoch.
  public static func create(
    site: Name, key: FileKey, at now: Int64, until: Int64
  ) throws(CertificateError) -> CertificateAuthority {
    let draft = X509Draft(
      commonName: "posture \(site)", organization: site.description,
      extensions: [
        (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
        (NID_subject_key_identifier, "hash"),
      ], notBefore: now - leeway, notAfter: until)
    guard let made = draft.signed(for: key.key, by: key.key, authority: nil) else { throw .library() }
    return try CertificateAuthority(key: key, certificate: Certificate(made))
  }

  /// Seconds that a new certificate counts back, for a client whose clock is slow.
  private static let leeway: Int64 = 300

  /// A certificate for a key that its holder has proved to have. The name is the signer's choice, not the request's.
  public func sign(
    _ request: CertificateRequest, commonName: Name, site: Name, usage: Usage, at now: Int64, until: Int64
  ) throws(CertificateError) -> Certificate {
    try sign(request.key, commonName: commonName, site: site, usage: usage, at: now, until: until)
  }

  /// The same for a key of our own.
  public func sign(
    _ key: FileKey, commonName: Name, site: Name, usage: Usage, at now: Int64, until: Int64
  ) throws(CertificateError) -> Certificate {
    try sign(key.key, commonName: commonName, site: site, usage: usage, at: now, until: until)
  }

  private func sign(
    _ subject: ECKey, commonName: Name, site: Name, usage: Usage, at now: Int64, until: Int64
  ) throws(CertificateError) -> Certificate {
    let draft = X509Draft(
      commonName: commonName.description, organization: site.description,
      extensions: [
        (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
        (NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid"),
      ] + (try Self.extensions(usage)), notBefore: now - Self.leeway,
      // Nothing outlives the authority that vouches for it.
      notAfter: min(until, certificate.notAfter))
    guard let made = draft.signed(for: subject, by: key.key, authority: certificate.x509) else { throw .library() }
    return Certificate(made)
  }

  private static func extensions(_ usage: Usage) throws(CertificateError) -> [(kind: Int32, value: String)] {
    switch usage {
    case .client: return [(NID_ext_key_usage, "clientAuth")]
    case .server(let names):
      var alternatives: [String] = []
      for name in names { alternatives.append(try alternative(name)) }
      return [(NID_ext_key_usage, "serverAuth"), (NID_subject_alt_name, alternatives.joined(separator: ","))]
    }
  }

  /// OpenSSL reads a line of its configuration here: a name with a comma could bring another one along.
  private static func alternative(_ name: String) throws(CertificateError) -> String {
    let isAddress = name.contains(":") || name.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39).contains($0) }
    let isClean = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
        true
      case UInt8(ascii: ":"): isAddress
      default: false
      }
    }
    guard isClean, (1...253).contains(name.utf8.count) else { throw CertificateError(.name, name) }
    return (isAddress ? "IP:" : "DNS:") + name
  }
}
