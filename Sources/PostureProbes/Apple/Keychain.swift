/// What is asked of the Keychain. One implementation calls Security, the other follows a script in tests.
public protocol Keychain: Sendable {
  /// SecItemAdd of a generic password with `kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly`.
  func add(_ item: KeychainItem, secret: [UInt8]) -> KeychainStatus
  /// SecItemCopyMatching of its data, never asking the user.
  func read(_ item: KeychainItem) -> (status: KeychainStatus, secret: [UInt8]?)
  /// SecItemDelete.
  func delete(_ item: KeychainItem) -> KeychainStatus
  /// Accounts of every item of this service: what an earlier run left behind.
  func accounts(of service: String) -> [String]
}

/// One generic password: its two names.
public struct KeychainItem: Hashable, Sendable {
  public var service: String
  public var account: String

  public init(service: String, account: String) {
    self.service = service
    self.account = account
  }
}

/// An OSStatus of Security (SecBase.h).
public struct KeychainStatus: RawRepresentable, Hashable, Sendable {
  public let rawValue: Int32
  public init(rawValue: Int32) { self.rawValue = rawValue }

  public static let success = KeychainStatus(rawValue: 0)
  public static let unimplemented = KeychainStatus(rawValue: -4)
  public static let parameter = KeychainStatus(rawValue: -50)
  public static let allocate = KeychainStatus(rawValue: -108)
  public static let userCanceled = KeychainStatus(rawValue: -128)
  public static let notAvailable = KeychainStatus(rawValue: -25291)
  public static let authFailed = KeychainStatus(rawValue: -25293)
  public static let duplicateItem = KeychainStatus(rawValue: -25299)
  public static let itemNotFound = KeychainStatus(rawValue: -25300)
  public static let interactionNotAllowed = KeychainStatus(rawValue: -25308)
  public static let decode = KeychainStatus(rawValue: -26275)
  public static let missingEntitlement = KeychainStatus(rawValue: -34018)

  /// What the answer to SecItemAdd says about the passcode.
  public enum Meaning: Hashable, Sendable {
    /// The item exists, so a passcode does.
    case passcodeSet
    /// The class of protection cannot be had: no passcode.
    case passcodeNotSet
    /// Says nothing about the passcode; the reason.
    case nothing(String)
  }

  /// Only a success proves a passcode, and only `decode` denies one. `notAvailable` and `authFailed` were seen on devices
  /// with a passcode too (after it had been turned off and on again), so they prove nothing.
  public var meaningOfAdd: Meaning {
    switch self {
    case .success, .duplicateItem: .passcodeSet
    case .decode: .passcodeNotSet
    case .notAvailable: .nothing("keychainNotAvailable")
    case .authFailed: .nothing("keychainAuthFailed")
    case .interactionNotAllowed: .nothing("deviceLocked")
    case .missingEntitlement: .nothing("missingEntitlement")
    case .userCanceled: .nothing("userCanceled")
    case .unimplemented: .nothing("keychainUnimplemented")
    case .parameter, .allocate: .nothing("keychainCallFailed")
    default: .nothing("keychainStatus\(rawValue)")
    }
  }
}
