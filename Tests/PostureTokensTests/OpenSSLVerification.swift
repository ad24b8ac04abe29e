import COpenSSL
import Posture

/// ES256 as OpenSSL verifies it by itself: what ours has to agree with.
final class OpenSSLVerification {
  private let pkey: OpaquePointer

  /// SubjectPublicKeyInfo (RFC 5480 section 2) up to the point.
  private static let head: [UInt8] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE,
    0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
  ]

  /// nil where the coordinates are those of no point of the curve.
  init?(_ point: JWK) {
    let bytes = Self.head + point.x + point.y
    let read = bytes.withUnsafeBufferPointer { buffer in
      var start = buffer.baseAddress
      return d2i_PUBKEY(nil, &start, buffer.count)
    }
    guard let read else {
      ERR_clear_error()
      return nil
    }
    pkey = read
  }

  deinit { EVP_PKEY_free(pkey) }

  /// `signature`: r and s, 64 bytes.
  func verifies(_ signature: ArraySlice<UInt8>, digest: [UInt8]) -> Bool {
    guard signature.count == 64, let context = EVP_PKEY_CTX_new(pkey, nil) else { return false }
    defer { EVP_PKEY_CTX_free(context) }
    let der = Self.der(signature)
    defer { ERR_clear_error() }
    return EVP_PKEY_verify_init(context) == 1 && EVP_PKEY_verify(context, der, der.count, digest, digest.count) == 1
  }

  /// SEQUENCE of two INTEGERs (RFC 3279 section 2.2.3) of r and s.
  static func der(_ signature: ArraySlice<UInt8>) -> [UInt8] {
    let middle = signature.startIndex + 32
    let r = signature[..<middle].drop { $0 == 0 }
    let s = signature[middle...].drop { $0 == 0 }
    var der: [UInt8] = [0x30, 0]
    der.reserveCapacity(72)
    for number in [r, s] {
      // A leading bit, or no byte at all, needs a zero byte: INTEGER is signed.
      let pad = (number.first ?? 0x80) >= 0x80
      der += [0x02, UInt8(number.count + (pad ? 1 : 0))]
      if pad { der.append(0) }
      der += number
    }
    der[1] = UInt8(der.count - 2)
    return der
  }
}
