import COpenSSL
import Posture
import PostureTokens

/// ES256 by OpenSSL and nothing else: the floor of everything that signs and verifies. For one thread at a time.
final class BareKey {
  private let pkey: OpaquePointer
  private let context: OpaquePointer

  /// A key pair.
  init(_ key: FileKey) throws(BenchError) {
    let pem: [UInt8]
    do throws(KeyError) { pem = try key.pem() } catch { throw BenchError(error.description) }
    let read = BareTLS.withReader(pem) { PEM_read_bio_PrivateKey($0, nil, nil, nil) }
    guard let read, let context = EVP_MD_CTX_new() else { throw BenchError("OpenSSL does not read the key") }
    (pkey, self.context) = (read, context)
  }

  deinit {
    EVP_MD_CTX_free(context)
    EVP_PKEY_free(pkey)
  }

  func sign(_ bytes: [UInt8]) {
    EVP_MD_CTX_reset(context)
    EVP_DigestSignInit(context, nil, EVP_sha256(), nil, pkey)
    var size = 80
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: size) { out in
      precondition(EVP_DigestSign(context, out.baseAddress, &size, bytes, bytes.count) == 1)
    }
  }

  func verify(_ message: BareMessage) {
    EVP_MD_CTX_reset(context)
    EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, pkey)
    precondition(
      EVP_DigestVerify(context, message.signature, message.signature.count, message.signed, message.signed.count) == 1)
  }
}

/// A token taken apart as OpenSSL wants it.
struct BareMessage {
  let token: [UInt8]
  let signed: [UInt8]
  /// DER.
  let signature: [UInt8]

  init(_ text: String) throws(BenchError) {
    token = Array(text.utf8)
    let parts = text.split(separator: ".")
    guard parts.count == 3, let raw = Base64URL.decode(parts[2]), let der = Self.der(raw) else {
      throw BenchError("OpenSSL takes the token apart otherwise")
    }
    signed = Array(token[..<(parts[0].utf8.count + 1 + parts[1].utf8.count)])
    signature = der
  }

  private static func der(_ raw: [UInt8]) -> [UInt8]? {
    guard raw.count == 64, let signature = ECDSA_SIG_new() else { return nil }
    defer { ECDSA_SIG_free(signature) }
    let (r, s) = (Array(raw[..<32]), Array(raw[32...]))
    ECDSA_SIG_set0(signature, BN_bin2bn(r, 32, nil), BN_bin2bn(s, 32, nil))
    var der = [UInt8](repeating: 0, count: 80)
    let count = der.withUnsafeMutableBufferPointer { buffer in
      var at = buffer.baseAddress
      return i2d_ECDSA_SIG(signature, &at)
    }
    return count > 0 ? Array(der[..<Int(count)]) : nil
  }
}
