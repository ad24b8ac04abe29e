import Glibc
import PosturePlatform

/// A certificate authority of a test, made with openssl(1): P-256 keys, PEM files in one folder.
public struct CertificateWorkshop: Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// PEM files.
  public struct Identity: Hashable, Sendable {
    public var authorities: String
    public var certificate: String
    public var key: String
  }

  public let folder: String
  public var authorities: String { "\(folder)/ca.pem" }

  public init(_ folder: String) throws {
    self.folder = folder
    try Self.openssl(
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
      "\(folder)/ca.key", "-out", authorities, "-days", "30", "-subj", "/CN=test authority")
  }

  /// `names`: the value of subjectAltName as openssl writes it, "DNS:localhost,IP:127.0.0.1". `days` may be negative:
  /// a certificate that has expired.
  public func issue(_ commonName: String, names: String? = nil, days: Int = 30) throws -> Identity {
    let stem = "\(folder)/\(commonName.replacing(/[^a-z0-9-]/, with: "_"))-\(UInt32.random(in: 0...UInt32.max))"
    let identity = Identity(authorities: authorities, certificate: "\(stem).pem", key: "\(stem).key")
    try Self.openssl(
      "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", identity.key,
      "-out", "\(stem).csr", "-subj", "/CN=\(commonName)")
    let extensions = names.map { "subjectAltName=\($0)\n" } ?? "basicConstraints=CA:FALSE\n"
    try AtomicFile.write(Array(extensions.utf8), to: "\(stem).ext")
    try Self.openssl(
      "x509", "-req", "-in", "\(stem).csr", "-CA", authorities, "-CAkey", "\(folder)/ca.key", "-set_serial",
      "\(UInt32.random(in: 1...UInt32.max))", "-days", "\(days)", "-extfile", "\(stem).ext", "-out",
      identity.certificate)
    return identity
  }

  private static func openssl(_ arguments: String...) throws {
    let output = try Command("/usr/bin/openssl", arguments).run()
    guard output.status == 0 else { throw Failure(description: String(decoding: output.err, as: UTF8.self)) }
  }
}
