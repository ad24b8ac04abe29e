public import Posture

/// The keyring question: what opens each store of secrets.
public struct KeyringProbe: Probe {
  public let name = "keyring"
  /// Subjects to report; empty: all.
  public var users: [String]

  public init(users: [String] = []) { self.users = users }

  public func run(on system: System) -> ProbeResult { system.sharing { examine(system) } }

  private func examine(_ system: System) -> ProbeResult {
    let context = KeyringContext(system, users)
    // What may hang starts first, each on a thread of its own, and is waited for at the end.
    let active = ActiveProbes(context)
    var result = ProbeResult()
    for part in Self.parts { result.add(part(context)) }
    result.add(UnreadableHomes.look(context, result.doors))
    result.remarks += DefaultStoreRemarks.look(context, result.doors)
    active?.finish(&result)
    if !users.isEmpty { result.restrict(to: users) }
    return result
  }

  /// From the ground up: what everything lies on, what the machine offers, what its people keep.
  private static let parts: [@Sendable (KeyringContext) -> ProbeResult] = [
    VolumeDoors.look, SwapRemark.look, KernelKeyringDoor.look, MachineDoors.look, ManagedHomeDoors.look,
    FSCryptDoors.look, SecretProviders.look, GnomeKeyringDoors.look, KWalletDoors.look, KeePassXCDoors.look,
    SSHKeyDoors.look,
  ]
}

/// What every part of this probe needs.
struct KeyringContext {
  let system: System
  let distribution: Distribution
  let accounts: Accounts
  let volumes: Volumes
  let providers: SecretProviders
  /// Those whose stores are looked at.
  let people: [Account]

  init(_ system: System, _ users: [String] = []) {
    self.system = system
    distribution = Distribution.of(system)
    accounts = system.shared { Accounts(system) }
    volumes = Volumes(system, distribution, accounts)
    providers = SecretProviders(system)
    people = accounts.people.filter { users.isEmpty || users.contains($0.name) }
  }
}
