import COpenSSL
import Posture
import Synchronization

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
  /// Looked up once: OpenSSL looks for it by name in each call of SHA256(3).
  private struct Method: @unchecked Sendable {
    // An EVP_MD is never changed, and this one is never freed.
    let pointer = EVP_MD_fetch(nil, "SHA256", nil)
  }
  private static let method = Method()

  public static func digest(of bytes: [UInt8]) -> [UInt8] { digest(of: bytes[...]) }

  static func digest(of bytes: ArraySlice<UInt8>) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { out, count in
      bytes.withUnsafeBufferPointer {
        let done = EVP_Digest($0.baseAddress, $0.count, out.baseAddress, nil, method.pointer, nil)
        precondition(done == 1, "OpenSSL has no SHA-256")
      }
      count = 32
    }
  }

  /// In base64url, 43 characters.
  public static func text(of bytes: [UInt8]) -> String { Base64URL.encode(digest(of: bytes)) }
}

/// One key on P-256 in OpenSSL's hands. The context for signing is made once and used again.
final class ECKey: @unchecked Sendable {
  // `pkey` is changed by nobody, and OpenSSL counts its references atomically; the context is used under its lock.
  let pkey: OpaquePointer
  private let signing: Mutex<Context?> = Mutex(nil)

  /// An EVP_PKEY_CTX.
  private struct Context: @unchecked Sendable {
    // Only ever touched under the lock that holds it.
    let pointer: OpaquePointer
  }

  /// Takes over `pkey`.
  init(owning pkey: OpaquePointer) throws(KeyError) {
    self.pkey = pkey
    guard Self.isP256(pkey) else { throw KeyError(.curve) }
  }

  deinit {
    signing.withLock { EVP_PKEY_CTX_free($0?.pointer) }
    EVP_PKEY_free(pkey)
  }

  private static func isP256(_ pkey: OpaquePointer) -> Bool {
    var name = [CChar](repeating: 0, count: 32)
    var length = 0
    guard EVP_PKEY_get_group_name(pkey, &name, name.count, &length) == 1 else { return false }
    return String(decoding: name[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self) == "prime256v1"
  }

  // MARK: Ways to get one

  static func generate() throws(KeyError) -> ECKey {
    guard let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil) else { throw KeyError(.library) }
    defer { EVP_PKEY_CTX_free(context) }
    var pkey: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1,
      EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1,
      EVP_PKEY_keygen(context, &pkey) == 1, let pkey
    else { throw .library() }
    return try ECKey(owning: pkey)
  }

  convenience init(pem: [UInt8]) throws(KeyError) {
    let pkey = Memory.reading(pem) { bio in
      // Without a callback a PEM with a passphrase would ask for it on the terminal.
      PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in 0 }, nil)
    }
    guard let pkey else {
      ERR_clear_error()
      throw KeyError(.format)
    }
    try self.init(owning: pkey)
  }

  func pem() throws(KeyError) -> [UInt8] {
    let pem = Memory.writing { PEM_write_bio_PKCS8PrivateKey($0, pkey, nil, nil, 0, nil, nil) }
    guard let pem else { throw .library() }
    return pem
  }

  /// The public point.
  func point() throws(KeyError) -> JWK {
    var point = [UInt8](repeating: 0, count: 65)
    var length = 0
    guard EVP_PKEY_get_octet_string_param(pkey, OSSL_PKEY_PARAM_PUB_KEY, &point, 65, &length) == 1, length == 65,
      let jwk = JWK(x: Array(point[1..<33]), y: Array(point[33...]))
    else { throw .library() }
    return jwk
  }

  // MARK: Signatures

  func sign(digest: [UInt8]) throws(KeyError) -> [UInt8] {
    let der = signing.withLock { context -> [UInt8]? in
      guard let ready = context ?? signingContext() else { return nil }
      context = ready
      var length = 80
      var der = [UInt8](repeating: 0, count: length)
      guard EVP_PKEY_sign(ready.pointer, &der, &length, digest, digest.count) == 1 else { return nil }
      return Array(der[..<length])
    }
    guard let der, let signature = Self.raw(der) else { throw .library() }
    return signature
  }

  private func signingContext() -> Context? {
    guard let context = EVP_PKEY_CTX_new(pkey, nil) else { return nil }
    guard EVP_PKEY_sign_init(context) == 1 else {
      EVP_PKEY_CTX_free(context)
      return nil
    }
    return Context(pointer: context)
  }

  static func raw(_ der: [UInt8]) -> [UInt8]? {
    let parsed: OpaquePointer? = der.withUnsafeBufferPointer { buffer in
      var start = buffer.baseAddress
      return d2i_ECDSA_SIG(nil, &start, buffer.count)
    }
    guard let parsed else { return nil }
    defer { ECDSA_SIG_free(parsed) }
    var raw = [UInt8](repeating: 0, count: 64)
    let filled = raw.withUnsafeMutableBufferPointer { raw in
      BN_bn2binpad(ECDSA_SIG_get0_r(parsed), raw.baseAddress, 32) == 32
        && BN_bn2binpad(ECDSA_SIG_get0_s(parsed), raw.baseAddress! + 32, 32) == 32
    }
    return filled ? raw : nil
  }
}

extension JWK {
  /// As OpenSSL takes a point (SEC 1 section 2.3.3).
  var uncompressed: [UInt8] { [0x04] + x + y }
}

extension KeyError {
  /// With OpenSSL's own words for the oldest error of this thread, which is then forgotten.
  static func library() -> KeyError {
    var text = [CChar](repeating: 0, count: 256)
    ERR_error_string_n(ERR_get_error(), &text, text.count)
    ERR_clear_error()
    let letters = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return KeyError(.library, String(decoding: letters, as: UTF8.self))
  }
}

/// OpenSSL's in-memory files.
enum Memory {
  static func reading<Value>(_ bytes: [UInt8], _ read: (OpaquePointer) -> Value?) -> Value? {
    bytes.withUnsafeBufferPointer { buffer in
      guard let bio = BIO_new_mem_buf(buffer.baseAddress, Int32(clamping: buffer.count)) else { return nil }
      defer { BIO_free(bio) }
      return read(bio)
    }
  }

  static func writing(_ write: (OpaquePointer) -> Int32) -> [UInt8]? {
    guard let bio = BIO_new(BIO_s_mem()) else { return nil }
    defer { BIO_free(bio) }
    guard write(bio) == 1 else { return nil }
    let size = BIO_ctrl_pending(bio)
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = max(0, Int(BIO_read(bio, buffer.baseAddress, Int32(clamping: size))))
    }
  }
}
