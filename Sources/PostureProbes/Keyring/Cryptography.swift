import COpenSSL

/// The few functions of OpenSSL that reading stores takes.
enum Cryptography {
  /// nil for an algorithm that this OpenSSL does not have.
  static func digest(_ algorithm: String, _ parts: ArraySlice<UInt8>...) -> [UInt8]? {
    if algorithm == "sha256" { return sha256(parts) }
    guard let method = EVP_MD_fetch(nil, algorithm, nil), let context = EVP_MD_CTX_new() else { return nil }
    defer {
      EVP_MD_CTX_free(context)
      EVP_MD_free(method)
    }
    guard EVP_DigestInit_ex2(context, method, nil) == 1 else { return nil }
    for part in parts {
      let isTaken = part.withUnsafeBytes { EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
      guard isTaken == 1 else { return nil }
    }
    var out = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    guard EVP_DigestFinal_ex(context, &out, &count) == 1 else { return nil }
    return Array(out.prefix(Int(count)))
  }

  private static func sha256(_ parts: [ArraySlice<UInt8>]) -> [UInt8] {
    var context = SHA256_CTX()
    var sum = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    // None of the three can fail.
    _ = copenssl_sha256_init(&context)
    for part in parts { _ = part.withUnsafeBytes { copenssl_sha256_update(&context, $0.baseAddress, $0.count) } }
    _ = copenssl_sha256_final(&sum, &context)
    return sum
  }

  /// PBKDF2 with the HMAC of a hash (RFC 8018).
  static func pbkdf2(
    _ hash: String, _ password: [UInt8], salt: [UInt8], iterations: Int32, length: Int
  ) -> [UInt8]? {
    guard let method = EVP_MD_fetch(nil, hash, nil) else { return nil }
    defer { EVP_MD_free(method) }
    var key = [UInt8](repeating: 0, count: length)
    let text = password.map(CChar.init(bitPattern:))
    let isMade = PKCS5_PBKDF2_HMAC(
      text, Int32(text.count), salt, Int32(salt.count), iterations, method, Int32(length), &key)
    return isMade == 1 ? key : nil
  }

  /// AES-XTS, each sector with its number as initial vector (`plain64`). The key is both keys, 32 or 64 bytes.
  static func decryptAESXTS(_ bytes: [UInt8], key: [UInt8], sectorSize: Int) -> [UInt8]? {
    guard let cipher = EVP_CIPHER_fetch(nil, key.count == 64 ? "AES-256-XTS" : "AES-128-XTS", nil),
      let context = EVP_CIPHER_CTX_new()
    else { return nil }
    defer {
      EVP_CIPHER_CTX_free(context)
      EVP_CIPHER_free(cipher)
    }
    guard EVP_DecryptInit_ex2(context, cipher, key, nil, nil) == 1 else { return nil }
    var out = [UInt8](repeating: 0, count: bytes.count)
    for sector in 0..<bytes.count / sectorSize {
      let vector = (0..<16).map { $0 < 8 ? UInt8(truncatingIfNeeded: sector >> (8 * $0)) : 0 }
      var count: Int32 = 0
      let isDone = bytes.withUnsafeBufferPointer { bytes in
        out.withUnsafeMutableBufferPointer { out in
          EVP_DecryptInit_ex2(context, nil, nil, vector, nil) == 1
            && EVP_DecryptUpdate(
              context, out.baseAddress! + sector * sectorSize, &count, bytes.baseAddress! + sector * sectorSize,
              Int32(sectorSize)) == 1
        }
      }
      guard isDone, Int(count) == sectorSize else { return nil }
    }
    return out
  }

  enum BlockMode: String {
    case cbc = "BF-CBC"
    case ecb = "BF-ECB"
  }

  /// Blowfish without padding, the initial vector all zeroes. nil where OpenSSL's legacy provider is not installed.
  static func decryptBlowfish(_ bytes: ArraySlice<UInt8>, key: [UInt8], mode: BlockMode) -> [UInt8]? {
    guard let library = OSSL_LIB_CTX_new() else { return nil }
    defer { OSSL_LIB_CTX_free(library) }
    // Old ciphers live in a provider that is loaded here alone, so that nothing else in the process can fall back to it.
    guard let legacy = OSSL_PROVIDER_load(library, "legacy") else { return nil }
    defer { OSSL_PROVIDER_unload(legacy) }
    guard let cipher = EVP_CIPHER_fetch(library, mode.rawValue, nil), let context = EVP_CIPHER_CTX_new() else {
      return nil
    }
    defer {
      EVP_CIPHER_CTX_free(context)
      EVP_CIPHER_free(cipher)
    }
    let vector = [UInt8](repeating: 0, count: 8)
    guard EVP_DecryptInit_ex2(context, cipher, nil, nil, nil) == 1,
      EVP_CIPHER_CTX_set_key_length(context, Int32(key.count)) == 1,
      EVP_DecryptInit_ex2(context, nil, key, vector, nil) == 1,
      EVP_CIPHER_CTX_set_padding(context, 0) == 1
    else { return nil }
    var out = [UInt8](repeating: 0, count: bytes.count + 8)
    var count: Int32 = 0
    let isDone = bytes.withUnsafeBufferPointer {
      EVP_DecryptUpdate(context, &out, &count, $0.baseAddress, Int32($0.count))
    }
    return isDone == 1 ? Array(out.prefix(Int(count))) : nil
  }
}
