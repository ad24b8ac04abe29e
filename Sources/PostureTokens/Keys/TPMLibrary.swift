import COpenSSL
import Posture
import Synchronization

/// One key of a TPM in the hands of OpenSSL's provider tpm2, in a library context of its own, so that nothing else of this
/// process ever reaches the TPM, and nothing of the TPM's falls back to software.
final class TPMLibrary: @unchecked Sendable {
  // Everything is made in init and used under `turn`; OpenSSL's provider fails when two threads sign at once.
  private let context: OpaquePointer
  private let providers: [OpaquePointer]
  private let pkey: OpaquePointer
  private static let turn = Mutex(())

  /// tpm2-openssl as `?provider` would sign in software where it cannot; here a key of another provider is an error.
  init(uri: String) throws(KeyError) {
    guard let context = OSSL_LIB_CTX_new() else { throw .library() }
    var providers: [OpaquePointer] = []
    for name in ["default", "tpm2"] {
      guard let provider = OSSL_PROVIDER_load(context, name) else {
        let error = KeyError.library()
        Self.free(context, providers)
        throw KeyError(.tpm, "no OpenSSL provider \(name): \(error.detail ?? "")")
      }
      providers.append(provider)
    }
    let owner = Handle(pointer: context)
    guard let pkey = Self.turn.withLock({ _ in Self.load(uri, owner) })?.pointer else {
      let error = KeyError.library()
      Self.free(context, providers)
      throw KeyError(.tpm, "no key at \(uri): \(error.detail ?? "")")
    }
    self.context = context
    self.providers = providers
    self.pkey = pkey
    guard Self.provider(of: pkey) == "tpm2" else { throw KeyError(.tpm, "\(uri) is no key of the TPM") }
  }

  deinit {
    EVP_PKEY_free(pkey)
    Self.free(context, providers)
  }

  private static func free(_ context: OpaquePointer, _ providers: [OpaquePointer]) {
    for provider in providers.reversed() { OSSL_PROVIDER_unload(provider) }
    OSSL_LIB_CTX_free(context)
  }

  /// A pointer that only whoever has the turn follows.
  private struct Handle: @unchecked Sendable {
    // See ``turn``.
    let pointer: OpaquePointer
  }

  private static func load(_ uri: String, _ context: Handle) -> Handle? {
    guard let store = OSSL_STORE_open_ex(uri, context.pointer, "?provider=tpm2", nil, nil, nil, nil, nil) else {
      return nil
    }
    defer { OSSL_STORE_close(store) }
    while OSSL_STORE_eof(store) == 0 {
      guard let info = OSSL_STORE_load(store) else { return nil }
      defer { OSSL_STORE_INFO_free(info) }
      if OSSL_STORE_INFO_get_type(info) == OSSL_STORE_INFO_PKEY {
        return OSSL_STORE_INFO_get1_PKEY(info).map { Handle(pointer: $0) }
      }
    }
    return nil
  }

  private static func provider(of pkey: OpaquePointer) -> String? {
    EVP_PKEY_get0_provider(pkey).flatMap { OSSL_PROVIDER_get0_name($0) }.map { String(cString: $0) }
  }

  /// The public point; the curve has to be P-256.
  func point() throws(KeyError) -> JWK {
    let spki = Self.turn.withLock { _ -> [UInt8] in
      let size = i2d_PUBKEY(pkey, nil)
      guard size > 0 else { return [] }
      return [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
        var at = buffer.baseAddress
        count = max(0, Int(i2d_PUBKEY(pkey, &at)))
      }
    }
    let parsed: OpaquePointer? = spki.withUnsafeBufferPointer { buffer in
      var at = buffer.baseAddress
      return d2i_PUBKEY(nil, &at, buffer.count)
    }
    guard let parsed else { throw .library() }
    return try ECKey(owning: parsed).point()
  }

  /// r and s of a signature over the SHA-256 of `bytes`.
  func sign(_ bytes: [UInt8]) throws(KeyError) -> [UInt8] {
    let der = Self.turn.withLock { _ -> [UInt8]? in
      guard let digest = EVP_MD_CTX_new() else { return nil }
      defer { EVP_MD_CTX_free(digest) }
      guard EVP_DigestSignInit_ex(digest, nil, "SHA256", context, "?provider=tpm2", pkey, nil) == 1 else { return nil }
      var length = 0
      guard EVP_DigestSign(digest, nil, &length, bytes, bytes.count) == 1 else { return nil }
      var der = [UInt8](repeating: 0, count: length)
      guard EVP_DigestSign(digest, &der, &length, bytes, bytes.count) == 1 else { return nil }
      return Array(der[..<length])
    }
    guard let der, let signature = ECKey.raw(der) else { throw KeyError(.tpm, KeyError.library().detail) }
    return signature
  }
}
