import Posture
import PosturePlatform

/// What every part of this probe needs, each made when it is first needed: the system, its distribution, what it starts,
/// its accounts, its PAM stacks.
final class AuthContext: Sendable {
  let system: System
  /// What sshd is asked before anything else: nothing takes as long as its answer.
  private let usual: SSHDQuestion?
  private let knownStartup = Once<Startup>()
  private let knownServers = Once<[SSHDServer]>()
  private let knownAccounts = Once<Accounts>()
  private let knownPAM = Once<PAM>()

  init(_ system: System) {
    self.system = system
    usual = SSHDServer.askUsual(system)
  }

  var distribution: Distribution { Distribution.of(system) }
  var startup: Startup { knownStartup.value { system.shared { Startup(system) } } }
  /// One for each command that starts it; none where it is not installed.
  var sshd: [SSHDServer] { knownServers.value { SSHDServer.all(system, distribution, startup, usual) } }
  var accounts: Accounts { knownAccounts.value { system.shared { Accounts(system) } } }

  var pam: PAM {
    knownPAM.value {
      let (distribution, accounts) = (distribution, accounts)
      return system.shared { PAM(system, distribution, accounts) }
    }
  }
}
