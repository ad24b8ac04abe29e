/// A TLS certificate. It lets a party speak to the broker; what the party says is believed for its signature alone.
public struct Certificate: Sendable {
  let x509: X509Certificate

  init(_ x509: X509Certificate) { self.x509 = x509 }

  public init(pem: [UInt8]) throws(CertificateError) {
    guard let x509 = X509Certificate.read(pem: pem) else { throw CertificateError(.format) }
    self.init(x509)
  }

  public init(pem: String) throws(CertificateError) { try self.init(pem: Array(pem.utf8)) }

  public func pem() throws(CertificateError) -> String {
    guard let pem = x509.pem() else { throw .library() }
    return String(decoding: pem, as: UTF8.self)
  }

  /// The device's or operator's name; the broker takes it for the user name.
  public var commonName: String? { x509.commonName }
  /// Seconds since the epoch.
  public var notBefore: Int64 { x509.notBefore ?? 0 }
  public var notAfter: Int64 { x509.notAfter ?? 0 }

  public func belongs(to key: FileKey) -> Bool { x509.belongs(to: key.key) }

  public func isFor(host: String) -> Bool { x509.isFor(host: host) }

  /// Whether `authority` signed it. Dates are not looked at.
  public func isSigned(by authority: Certificate) -> Bool { x509.isSigned(by: authority.x509) }
}

/// A request (PKCS #10) for a TLS certificate: proves that whoever asks holds the key.
public struct CertificateRequest: Sendable {
  private let x509: X509Request
  let key: ECKey

  /// Bytes of DER from outside.
  public init(der: [UInt8]) throws(CertificateError) {
    guard let x509 = X509Request.read(der: der) else { throw CertificateError(.format) }
    guard x509.isSelfSigned else { throw CertificateError(.signature) }
    do throws(KeyError) { key = try x509.key() } catch { throw CertificateError(.key, error.description) }
    self.x509 = x509
  }

  public static func make(key: FileKey, commonName: String) throws(CertificateError) -> CertificateRequest {
    guard let der = X509Request.make(key.key, commonName: commonName)?.der() else { throw .library() }
    return try CertificateRequest(der: der)
  }

  public func der() throws(CertificateError) -> [UInt8] {
    guard let der = x509.der() else { throw .library() }
    return der
  }
}

extension CertificateError {
  static func library() -> CertificateError { CertificateError(.library, KeyError.library().detail) }
}
