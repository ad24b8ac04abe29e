import Posture

/// The PAM configuration of the system, and what each service asks of each person.
struct PAM: Sendable {
  /// How an application calls.
  struct Call: Sendable {
    var service: String
    /// PAM_DISALLOW_NULL_AUTHTOK.
    var disallowsEmpty = false
    /// The account phase follows (everything but screen lockers).
    var withAccountPhase = true
    /// Authentication is skipped (`login -f`, autologin, SSH keys): only the account phase counts.
    var skipsAuthentication = false
    /// PAM_RHOST is set.
    var isRemote = false
    /// Name of the user who calls, where that is not the target (su, sudo, polkit); nil: the target, or root.
    var caller: String?
    /// uid the calling process has; login, getty and display managers call as 0, screen lockers as the user.
    var callerUID: UInt32 = 0
    /// PAM_TTY.
    var terminal: String?

    init(_ service: String) { self.service = service }
  }

  /// What a call comes to.
  struct Outcome: Sendable {
    /// nil: something that decides could not be read or is not modelled.
    var opening: Opening?
    /// Files and lines that decided, in order.
    var because: [Reason]
    /// For an open or unknown outcome: the root cause.
    var cause: Cause?
  }

  init(_ system: System, _ distribution: Distribution, _ accounts: Accounts) {}

  /// Which factors of `account` (or of the external subject, where nil) this call accepts.
  func outcome(of call: Call, for account: Account?) -> Outcome {
    Outcome(opening: nil, because: [Reason("pam.notModelled")], cause: nil)
  }

  /// Whether a file of this service exists anywhere on the search path (or a line of pam.conf).
  func hasService(_ name: String) -> Bool { false }

  /// The lines of `group` that `service` runs, includes expanded, in order, with where each stands.
  func lines(of service: String, _ group: Group) -> [Line] { [] }

  enum Group: String, Sendable { case auth, account, password, session }

  struct Line: Sendable {
    /// Base name: `pam_unix.so`.
    var module: String
    var arguments: [String]
    var place: Place
    /// The module's file is installed.
    var isInstalled: Bool
  }
}
