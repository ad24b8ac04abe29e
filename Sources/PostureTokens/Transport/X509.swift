import COpenSSL
import Posture
import PosturePlatform

/// An X.509 certificate in OpenSSL's hands.
final class X509Certificate: @unchecked Sendable {
  // Not changed after init, but for caches that OpenSSL guards itself.
  let pointer: OpaquePointer

  init(owning pointer: OpaquePointer) { self.pointer = pointer }
  deinit { X509_free(pointer) }

  static func read(pem: [UInt8]) -> X509Certificate? {
    let pointer = Memory.reading(pem) { PEM_read_bio_X509($0, nil, { _, _, _, _ in 0 }, nil) }
    if pointer == nil { ERR_clear_error() }
    return pointer.map { X509Certificate(owning: $0) }
  }

  func pem() -> [UInt8]? { Memory.writing { PEM_write_bio_X509($0, pointer) } }

  var commonName: String? { X509Name.commonName(X509_get_subject_name(pointer)) }
  var notBefore: Int64? { Self.seconds(X509_get0_notBefore(pointer)) }
  var notAfter: Int64? { Self.seconds(X509_get0_notAfter(pointer)) }

  /// Seconds since the epoch, whatever the time zone of this process.
  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
    guard let epoch = ASN1_TIME_set(nil, 0) else { return nil }
    defer { ASN1_STRING_free(epoch) }
    var days: Int32 = 0
    var seconds: Int32 = 0
    guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
    return Int64(days) * 86_400 + Int64(seconds)
  }

  func isSigned(by authority: X509Certificate) -> Bool {
    defer { ERR_clear_error() }
    return X509_check_issued(authority.pointer, pointer) == X509_V_OK
      && X509_verify(pointer, X509_get0_pubkey(authority.pointer)) == 1
  }

  func belongs(to key: ECKey) -> Bool {
    defer { ERR_clear_error() }
    return X509_check_private_key(pointer, key.pkey) == 1
  }

  func isFor(host: String) -> Bool { X509_check_host(pointer, host, host.utf8.count, 0, nil) == 1 }
}

/// A PKCS #10 request in OpenSSL's hands.
final class X509Request: @unchecked Sendable {
  // Not changed after init.
  let pointer: OpaquePointer

  init(owning pointer: OpaquePointer) { self.pointer = pointer }
  deinit { X509_REQ_free(pointer) }

  static func read(der: [UInt8]) -> X509Request? {
    let (pointer, used) = der.withUnsafeBufferPointer { buffer -> (OpaquePointer?, Int) in
      var at = buffer.baseAddress
      let request = d2i_X509_REQ(nil, &at, buffer.count)
      return (request, at.map { $0 - buffer.baseAddress! } ?? 0)
    }
    guard let pointer else {
      ERR_clear_error()
      return nil
    }
    let request = X509Request(owning: pointer)
    return used == der.count ? request : nil
  }

  static func make(_ key: ECKey, commonName: String) -> X509Request? {
    guard let pointer = X509_REQ_new() else { return nil }
    let request = X509Request(owning: pointer)
    guard X509_REQ_set_pubkey(pointer, key.pkey) == 1,
      X509Name.set(X509_REQ_get_subject_name(pointer), commonName: commonName, organization: nil),
      X509_REQ_sign(pointer, key.pkey, EVP_sha256()) > 0
    else { return nil }
    return request
  }

  func der() -> [UInt8]? {
    let size = i2d_X509_REQ(pointer, nil)
    guard size > 0 else { return nil }
    return [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
      var at = buffer.baseAddress
      count = max(0, Int(i2d_X509_REQ(pointer, &at)))
    }
  }

  var isSelfSigned: Bool {
    defer { ERR_clear_error() }
    return X509_REQ_verify(pointer, X509_REQ_get0_pubkey(pointer)) == 1
  }

  func key() throws(KeyError) -> ECKey {
    guard let pkey = X509_REQ_get_pubkey(pointer) else { throw .library() }
    return try ECKey(owning: pkey)
  }
}

enum X509Name {
  static func set(_ name: OpaquePointer?, commonName: String, organization: String?) -> Bool {
    func add(_ kind: Int32, _ text: String) -> Bool {
      X509_NAME_add_entry_by_NID(name, kind, MBSTRING_UTF8, Array(text.utf8), Int32(text.utf8.count), -1, 0) == 1
    }
    return (organization.map { add(NID_organizationName, $0) } ?? true) && add(NID_commonName, commonName)
  }

  static func commonName(_ name: OpaquePointer?) -> String? {
    var text = [CChar](repeating: 0, count: 128)
    let length = X509_NAME_get_text_by_NID(name, NID_commonName, &text, Int32(text.count))
    guard length > 0 else { return nil }
    return String(validating: text[..<Int(length)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// What goes into a certificate that is to be signed.
struct X509Draft {
  var commonName: String
  var organization: String?
  /// Extensions by NID, in the words of x509v3_config(5).
  var extensions: [(kind: Int32, value: String)]
  /// Seconds since the epoch.
  var notBefore: Int64
  var notAfter: Int64

  /// `authority` is nil for a certificate that signs itself.
  func signed(for subject: ECKey, by key: ECKey, authority: X509Certificate?) -> X509Certificate? {
    guard let pointer = X509_new() else { return nil }
    let certificate = X509Certificate(owning: pointer)
    let issuer = authority?.pointer ?? pointer
    guard X509_set_version(pointer, 2) == 1, Self.setSerial(pointer),
      ASN1_TIME_set(X509_getm_notBefore(pointer), Int(notBefore)) != nil,
      ASN1_TIME_set(X509_getm_notAfter(pointer), Int(notAfter)) != nil,
      X509Name.set(X509_get_subject_name(pointer), commonName: commonName, organization: organization),
      X509_set_issuer_name(pointer, X509_get_subject_name(issuer)) == 1, X509_set_pubkey(pointer, subject.pkey) == 1,
      extensions.allSatisfy({ Self.add($0.kind, $0.value, to: pointer, issuer: issuer) }),
      X509_sign(pointer, key.pkey, EVP_sha256()) > 0
    else { return nil }
    return certificate
  }

  /// 127 random bits (CA/Browser Forum baseline requirements ask for 64).
  private static func setSerial(_ certificate: OpaquePointer) -> Bool {
    var bytes = Random.bytes(16)
    bytes[0] = bytes[0] & 0x7F | 0x40
    guard let number = BN_bin2bn(bytes, 16, nil) else { return false }
    defer { BN_free(number) }
    return BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil
  }

  private static func add(_ kind: Int32, _ value: String, to certificate: OpaquePointer, issuer: OpaquePointer) -> Bool
  {
    var context = X509V3_CTX()
    X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
    guard let addition = X509V3_EXT_conf_nid(nil, &context, kind, value) else { return false }
    defer { X509_EXTENSION_free(addition) }
    return X509_add_ext(certificate, addition, -1) == 1
  }
}
