import COpenSSL
import Glibc
import PosturePlatform

/// What cannot be used as it is configured.
public struct MQTTError: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String
  init(_ description: String) { self.description = description }
}

/// Certificates or a key (RFC 7468).
public enum PEM: Hashable, Sendable {
  /// Read anew for every connection, so that a rotated one is used.
  case file(String)
  case text(String)
}

/// Whom to trust and who we are.
public struct TLSFiles: Hashable, Sendable {
  /// The authorities of the broker's certificate.
  public var authorities: PEM
  /// Ours, with those between it and the authority.
  public var certificate: PEM
  public var key: PEM
  /// The name the broker's certificate must bear where it is not the host we connect to.
  public var serverName: String?

  public init(authorities: PEM, certificate: PEM, key: PEM, serverName: String? = nil) {
    self.authorities = authorities
    self.certificate = certificate
    self.key = key
    self.serverName = serverName
  }

  /// Paths.
  public init(authorities: String, certificate: String, key: String, serverName: String? = nil) {
    self.init(
      authorities: .file(authorities), certificate: .file(certificate), key: .file(key), serverName: serverName)
  }
}

/// An SSL_CTX: TLS 1.2 or later, the broker's chain and name checked, our certificate presented.
///
/// libmosquitto's own check of names takes `*.com`; this one is OpenSSL's, before the handshake ends.
final class TLSContext {
  let raw: OpaquePointer

  /// `checksDates` false: the chain and the name count, the dates do not, for a machine that does not know the date yet.
  init(_ files: TLSFiles, host: String, checksDates: Bool) throws(MQTTError) {
    guard let context = SSL_CTX_new(TLS_client_method()) else { throw MQTTError("TLS: \(Self.lastError)") }
    raw = context
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    try trust(files.authorities)
    try present(files.certificate, files.key)
    try expect(files.serverName ?? host, checksDates)
  }

  private func trust(_ authorities: PEM) throws(MQTTError) {
    let store = SSL_CTX_get_cert_store(raw)
    for certificate in try Self.certificates(authorities) {
      X509_STORE_add_cert(store, certificate)
      X509_free(certificate)
    }
  }

  private func present(_ certificate: PEM, _ key: PEM) throws(MQTTError) {
    for (index, certificate) in try Self.certificates(certificate).enumerated() {
      if index == 0 {
        SSL_CTX_use_certificate(raw, certificate)
        X509_free(certificate)
      } else {
        // The context takes those above ours over.
        SSL_CTX_ctrl(raw, SSL_CTRL_EXTRA_CHAIN_CERT, 0, UnsafeMutableRawPointer(certificate))
      }
    }
    let own = try Self.withReader(key) { PEM_read_bio_PrivateKey($0, nil, nil, nil) }
    guard let own else { throw MQTTError("\(Self.name(key)): no private key: \(Self.lastError)") }
    defer { EVP_PKEY_free(own) }
    guard SSL_CTX_use_PrivateKey(raw, own) == 1, SSL_CTX_check_private_key(raw) == 1 else {
      throw MQTTError("\(Self.name(key)): not the key of the certificate")
    }
  }

  /// At least one.
  private static func certificates(_ pem: PEM) throws(MQTTError) -> [OpaquePointer] {
    let found = try withReader(pem) { reader in
      var found: [OpaquePointer] = []
      while let next = PEM_read_bio_X509(reader, nil, nil, nil) { found.append(next) }
      return found
    }
    // The end of the text is an error to OpenSSL.
    defer { ERR_clear_error() }
    guard !found.isEmpty else { throw MQTTError("\(name(pem)): no certificate: \(lastError)") }
    return found
  }

  private static func withReader<Result>(_ pem: PEM, _ body: (OpaquePointer?) -> Result) throws(MQTTError) -> Result {
    let bytes: [UInt8]
    switch pem {
    case .text(let text): bytes = Array(text.utf8)
    case .file(let path):
      do throws(SystemError) { bytes = try AtomicFile.read(path, cap: 256 << 10) } catch {
        throw MQTTError("\(error)")
      }
    }
    return bytes.withUnsafeBufferPointer { buffer in
      let reader = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count))
      defer { BIO_free(reader) }
      return body(reader)
    }
  }

  private static func name(_ pem: PEM) -> String {
    if case .file(let path) = pem { path } else { "PEM" }
  }

  private func expect(_ name: String, _ checksDates: Bool) throws(MQTTError) {
    let parameters = SSL_CTX_get0_param(raw)
    X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    if !checksDates { X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_NO_CHECK_TIME)) }
    // An address is looked for among the certificate's addresses, anything else among its names.
    let isGood =
      X509_VERIFY_PARAM_set1_ip_asc(parameters, name) == 1
      || X509_VERIFY_PARAM_set1_host(parameters, name, name.utf8.count) == 1
    guard isGood else { throw MQTTError("\(name): not a host name") }
    nameServer(name)
  }

  /// libmosquitto announces the text it connects to, which here is an address: put the name in its place (RFC 6066).
  private func nameServer(_ name: String) {
    let copy = strdup(name)
    guard SSL_CTX_set_ex_data(raw, Self.nameIndex, copy) == 1 else { return free(copy) }
    SSL_CTX_set_info_callback(raw) { ssl, place, _ in
      guard place == SSL_CB_HANDSHAKE_START, let ssl,
        let name = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), TLSContext.nameIndex)
      else { return }
      SSL_ctrl(
        OpaquePointer(UnsafeRawPointer(ssl)), SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), name)
    }
  }

  /// Where a context keeps the name; OpenSSL frees it with the context.
  private static let nameIndex = CRYPTO_get_ex_new_index(
    CRYPTO_EX_INDEX_SSL_CTX, 0, nil, nil, nil, { _, name, _, _, _, _ in free(name) })

  deinit { SSL_CTX_free(raw) }

  /// The oldest error of this thread, in OpenSSL's words; the rest is dropped.
  static var lastError: String {
    defer { ERR_clear_error() }
    let code = ERR_get_error()
    guard code != 0, let reason = ERR_reason_error_string(code) else { return "unusable" }
    return String(cString: reason)
  }
}

/// Bounds what one inbound packet may bring in: libmosquitto takes 256 MiB whatever it announced.
///
/// It counts what the TLS connection reads from its socket between two finished packets.
final class InboundBudget {
  private let cap: Int
  private var used = 0
  private(set) var isExceeded = false

  init(cap: Int) { self.cap = cap }

  /// A packet is complete.
  func refill() { used = 0 }

  /// Watches the reads of a connection (an `SSL *`). The budget must outlive it.
  func watch(_ ssl: OpaquePointer) {
    guard let input = SSL_get_rbio(ssl) else { return }
    BIO_set_callback_arg(input, Unmanaged.passUnretained(self).toOpaque().assumingMemoryBound(to: CChar.self))
    BIO_set_callback_ex(input) { input, operation, _, _, _, _, result, count in
      guard let argument = BIO_get_callback_arg(input) else { return Int(result) }
      let budget = Unmanaged<InboundBudget>.fromOpaque(argument).takeUnretainedValue()
      if operation == BIO_CB_READ | BIO_CB_RETURN, result > 0, let count { budget.used += count.pointee }
      guard operation == BIO_CB_READ, budget.used > budget.cap else { return Int(result) }
      budget.isExceeded = true
      return -1
    }
  }

  /// The handshake is over.
  static func isEstablished(_ ssl: OpaquePointer) -> Bool { SSL_is_init_finished(ssl) == 1 }
  /// The handshake waits for room to write.
  static func wantsWrite(_ ssl: OpaquePointer) -> Bool { SSL_want(ssl) == SSL_WRITING }
}
