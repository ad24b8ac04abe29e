import COpenSSL
import PostureMQTT
import PosturePlatform

/// An SSL_CTX with an authority and a certificate of our own: what libmosquitto is given on the floor's side.
final class BareTLS {
  let raw: OpaquePointer

  init(_ files: TLSFiles) throws(BenchError) {
    guard let context = SSL_CTX_new(TLS_client_method()) else { throw BenchError("no TLS context") }
    raw = context
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    let authority = try Self.read(files.authorities) { PEM_read_bio_X509($0, nil, nil, nil) }
    let certificate = try Self.read(files.certificate) { PEM_read_bio_X509($0, nil, nil, nil) }
    let key = try Self.read(files.key) { PEM_read_bio_PrivateKey($0, nil, nil, nil) }
    defer {
      X509_free(authority)
      X509_free(certificate)
      EVP_PKEY_free(key)
    }
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority)
    guard SSL_CTX_use_certificate(context, certificate) == 1, SSL_CTX_use_PrivateKey(context, key) == 1 else {
      throw BenchError("OpenSSL does not take the certificate")
    }
  }

  deinit { SSL_CTX_free(raw) }

  private static func read(_ pem: PEM, _ parse: (OpaquePointer?) -> OpaquePointer?) throws(BenchError) -> OpaquePointer
  {
    let bytes: [UInt8]
    switch pem {
    case .text(let text): bytes = Array(text.utf8)
    case .file(let path):
      do throws(SystemError) { bytes = try AtomicFile.read(path) } catch { throw BenchError("\(error)") }
    }
    guard let object = withReader(bytes, parse) else { throw BenchError("OpenSSL does not read a PEM") }
    return object
  }

  static func withReader<Result>(_ bytes: [UInt8], _ body: (OpaquePointer?) -> Result) -> Result {
    bytes.withUnsafeBufferPointer { buffer in
      let reader = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count))
      defer { BIO_free(reader) }
      return body(reader)
    }
  }
}
