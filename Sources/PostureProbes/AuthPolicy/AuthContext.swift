import Posture

/// What every part of this probe needs: the system, its distribution, what it starts, its accounts, its PAM stacks.
struct AuthContext {
  let system: System
  let distribution: Distribution
  let startup: Startup
  /// One for each command that starts it; none where it is not installed.
  let sshd: [SSHDServer]
  let accounts: Accounts
  let pam: PAM

  init(_ system: System) {
    self.system = system
    distribution = Distribution(system)
    startup = system.shared { Startup(system) }
    sshd = SSHDServer.all(system, distribution, startup)
    // It takes its time to answer, and what follows does not need the answer yet.
    for server in sshd { server.askAhead() }
    accounts = system.shared { Accounts(system) }
    let (distribution, accounts) = (distribution, accounts)
    pam = system.shared { PAM(system, distribution, accounts) }
  }
}
