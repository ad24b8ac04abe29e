extension PAM {
  /// A return code of a module or of a stack (`_pam_types.h`). Any number can come back; those of 0 to 31 have names.
  struct Code: Hashable, Sendable {
    let number: Int16

    init(_ number: Int16) { self.number = number }

    static let success = Code(0)
    static let systemError = Code(4)
    static let permissionDenied = Code(6)
    static let authenticationError = Code(7)
    static let credentialsInsufficient = Code(8)
    static let authenticationUnavailable = Code(9)
    static let userUnknown = Code(10)
    static let maximalTries = Code(11)
    static let newTokenRequired = Code(12)
    static let accountExpired = Code(13)
    static let serviceError = Code(3)
    static let ignore = Code(25)
    static let abort = Code(26)
    static let tokenExpired = Code(27)
    static let moduleUnknown = Code(28)
    static let incomplete = Code(31)
    /// What a stack answers that nothing has decided, and an entry that cannot be run.
    static let mustFail = permissionDenied

    /// Number of codes that a control can name.
    static let count = 32

    /// The words of bracketed controls, in the order in which libpam compares prefixes; the last stands for the rest.
    static let names = [
      "success", "open_err", "symbol_err", "service_err", "system_err", "buf_err", "perm_denied", "auth_err",
      "cred_insufficient", "authinfo_unavail", "user_unknown", "maxtries", "new_authtok_reqd", "acct_expired",
      "session_err", "cred_unavail", "cred_expired", "cred_err", "no_module_data", "conv_err", "authtok_err",
      "authtok_recover_err", "authtok_lock_busy", "authtok_disable_aging", "try_again", "ignore", "abort",
      "authtok_expired", "module_unknown", "bad_item", "conv_again", "incomplete", "default",
    ]

    /// Every code that has a name.
    static let all = (0..<Int16(count)).map(Code.init)
  }
}
