#if canImport(Security)
  import Foundation
  import Security

  /// The Keychain of this device.
  public struct SystemKeychain: Keychain {
    public init() {}

    public func add(_ item: KeychainItem, secret: [UInt8]) -> KeychainStatus {
      var query = query(item.service, item.account)
      query[kSecAttrAccessible as String] = kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
      query[kSecValueData as String] = Data(secret)
      return KeychainStatus(rawValue: SecItemAdd(query as CFDictionary, nil))
    }

    public func read(_ item: KeychainItem) -> (status: KeychainStatus, secret: [UInt8]?) {
      var query = query(item.service, item.account)
      query[kSecReturnData as String] = true
      query[kSecMatchLimit as String] = kSecMatchLimitOne
      var found: CFTypeRef?
      let status = SecItemCopyMatching(query as CFDictionary, &found)
      return (KeychainStatus(rawValue: status), (found as? Data).map { [UInt8]($0) })
    }

    public func delete(_ item: KeychainItem) -> KeychainStatus {
      KeychainStatus(rawValue: SecItemDelete(query(item.service, item.account) as CFDictionary))
    }

    public func accounts(of service: String) -> [String] {
      var query = query(service, nil)
      query[kSecReturnAttributes as String] = true
      query[kSecMatchLimit as String] = kSecMatchLimitAll
      var found: CFTypeRef?
      guard SecItemCopyMatching(query as CFDictionary, &found) == 0 else { return [] }
      return (found as? [[String: Any]] ?? []).compactMap { $0[kSecAttrAccount as String] as? String }
    }

    /// The data-protection Keychain, on macOS too: the file-based one knows no such class.
    private func query(_ service: String, _ account: String?) -> [String: Any] {
      var query: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword,
        kSecAttrService as String: service,
        kSecUseDataProtectionKeychain as String: true,
      ]
      if let account { query[kSecAttrAccount as String] = account }
      return query
    }
  }
#endif
