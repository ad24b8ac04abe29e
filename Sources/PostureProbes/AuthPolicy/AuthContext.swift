import Posture

/// What every part of this probe needs: the system, its accounts, its PAM stacks, its distribution.
struct AuthContext {
  let system: System
  let distribution: Distribution
  let accounts: Accounts
  let pam: PAM

  init(_ system: System) {
    self.system = system
    distribution = Distribution(system)
    accounts = Accounts(system)
    pam = PAM(system, distribution, accounts)
  }
}
