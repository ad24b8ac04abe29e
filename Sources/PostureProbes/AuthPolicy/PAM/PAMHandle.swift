extension PAM {
  /// What modules leave in libpam's handle for those that run after them.
  struct Handle: Hashable, Sendable {
    /// PAM_AUTHTOK: somebody has asked for a password.
    var hasPassword = false
    /// What pam_unix leaves for its account function: it was the one that let the user in.
    var cameByUnix = false
  }
}
