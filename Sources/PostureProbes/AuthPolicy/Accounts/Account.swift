import Posture

/// One row of passwd(5) with its row of shadow(5) and its groups.
struct Account: Sendable {
  /// Which database the row comes from.
  enum Source: String, Sendable { case files, extrausers, altfiles, userdb, homed, synthesised }

  /// What the age of the password says at login, before the shell is looked at.
  enum Ageing: Sendable { case none, mustChange, passwordExpired, expired }

  var name: String
  var uid: UInt32
  var gid: UInt32
  var home: String
  var shell: String
  var kind: Subject.Kind
  var password: Subject.Password
  var scheme: String?
  var account: Subject.Account
  /// The field that was decisive for the password: passwd's own, or shadow's; nil where unreadable or missing.
  var hash: String?
  /// True where passwd's field itself holds the hash (or is empty): shadow is not asked.
  var isUnshadowed: Bool
  /// True where passwd has "x" and shadow has no row: pam_unix answers PAM_AUTHINFO_UNAVAIL.
  var hasNoShadowRow: Bool
  /// The second field of passwd(5).
  var field = "x"
  /// What shadow has where passwd's field does not send there.
  var shadowRow: AccountReader.Secret?
  /// Names of the primary and the supplementary groups.
  var groups: Set<String>
  /// Where the password's state was read.
  var place: Place
  var source = Source.files
  var ageing = Ageing.none
  /// The days of its shadow row.
  var age: PasswordAge?
  /// What opens a home of systemd-homed.
  var homed = Opening.never
  /// The home is encrypted with what ``homed`` says, so that nobody enters without it.
  var isHomeEncrypted = false

  var isRoot: Bool { uid == 0 }
  func isMember(of group: String) -> Bool { groups.contains(group) }
}
