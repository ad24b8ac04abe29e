import Posture

/// What every part of this probe needs: the system, its accounts, its PAM stacks, its distribution,
/// what it starts.
struct AuthContext {
  let system: System
  let distribution: Distribution
  let accounts: Accounts
  let pam: PAM
  let startup: Startup

  init(_ system: System) {
    self.system = system
    distribution = Distribution(system)
    accounts = system.shared { Accounts(system) }
    let (distribution, accounts) = (distribution, accounts)
    pam = system.shared { PAM(system, distribution, accounts) }
    startup = Startup(system)
  }
}
