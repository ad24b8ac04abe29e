/// A person or account that doors are listed for.
public struct Subject: Hashable, Sendable {
  public enum Kind: String, Sendable { case owner, root, service, external }

  /// The first that applies, in this order.
  public enum Account: String, Sendable {
    case expired
    /// The password's maximal age and the inactive days have passed: login is refused.
    case passwordExpired
    /// The password has to be changed at the next login.
    case mustChange
    case noShell
    case active
  }

  public enum Password: String, Sendable {
    case set, empty
    /// A hash that verifies "".
    case emptyHash
    case locked
    /// No password can ever match the field.
    case unmatchable
    /// No row.
    case none
    /// Kept elsewhere (sssd, homed, LDAP).
    case external
    case unreadable
  }

  public var name: String
  /// nil for `external:<source>`, and for a guest.
  public var uid: UInt32?
  public var kind: Kind
  public var account: Account
  public var password: Password
  /// `yescrypt` `gostYescrypt` `scrypt` `bcrypt` `sha512crypt` `sha256crypt` `sha1crypt` `sunmd5` `md5crypt` `nt`
  /// `descrypt` `bigcrypt` `bsdicrypt`; nil where there is no hash.
  public var scheme: String?
  /// Where the password's state was read.
  public var place: Place?

  public init(
    name: String, uid: UInt32?, kind: Kind, account: Account, password: Password, scheme: String? = nil,
    place: Place? = nil
  ) {
    self.name = name
    self.uid = uid
    self.kind = kind
    self.account = account
    self.password = password
    self.scheme = scheme
    self.place = place
  }
}
