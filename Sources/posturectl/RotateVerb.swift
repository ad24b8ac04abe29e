import Posture
import PostureFleet
import PosturePlatform
import PostureTerminal

/// `posturectl rotate`: new keys without a gap.
struct RotateVerb: Verb {
  static let name = "rotate"
  static let summary =
    "put a new key in the place of a controller's, policy signer's, monitor's, issuer's or the root's"
  static let help = """
    usage: posturectl rotate controller|policy|monitor [--home DIR]
           posturectl rotate issuer [--root-key FILE] [--home DIR]
           posturectl rotate root [--root-key FILE] [--overlap DAYS] [--home DIR]

    The old and the new key are good at the same time, so nobody has to be told in time. The trust document that names the
    new one is published before it is used. Take the old one of a controller or policy signer back with `posturectl trust
    revoke KID` when it is not needed any more, that of an issuer with `posturectl trust revoke KID --issuer`. Nobody
    obeys or believes a monitor: its old certificate reads at the broker until it ends.

      controller, policy, monitor
                  new signing and TLS keys in the role's folder
      issuer      needs the root's key. What the old issuer signed stays good; devices ask for a new credential by
                  themselves (posturectl issuer answers), then the old issuer can be revoked
      root        the old root names the new one. Everybody who pinned the old one follows; what goes back to the old root
                  alone ends after --overlap DAYS (default: 90). Sign policies of the root anew before that

      --root-key FILE   (default: root/root.key in the folder)

    A device's key: posture-agent enroll --new-keys, then posturectl enroll --replace.
    """

  private enum Target {
    case role(Role)
    case issuer(rootKey: String?)
    case root(rootKey: String?, overlap: Int64)
  }

  private let home: HomeOption
  private let target: Target

  init(_ arguments: inout Arguments) throws(UsageError) {
    let word = arguments.verb()
    home = try HomeOption(&arguments)
    switch word.flatMap(Role.init(rawValue:)) {
    case .root:
      let rootKey = try arguments.option("--root-key")
      target = .root(rootKey: rootKey, overlap: try arguments.days("--overlap") ?? 90 * IssuerDesk.day)
    case .issuer: target = .issuer(rootKey: try arguments.option("--root-key"))
    case .controller: target = .role(.controller)
    case .policy: target = .role(.policy)
    case .monitor: target = .role(.monitor)
    case .device, nil: throw UsageError("rotate: one of controller, policy, monitor, issuer, root")
    }
    try arguments.end()
  }

  func run() throws -> Int32 {
    let home = try home.open()
    let desk = RotationDesk(home)
    let now = Clock.wall
    switch target {
    case .role(let role): show(role, try desk.rotate(role, at: now) { try publish(&$0) })
    case .issuer(let rootKey):
      show(.issuer, try desk.rotateIssuer(rootKey: rootKey, at: now))
      try publish(home)
    case .root(let rootKey, let overlap):
      show(.root, try desk.rotateRoot(rootKey: rootKey, overlap: overlap, at: now))
      try publish(home)
    }
    return 0
  }

  private func publish(_ home: Home) throws {
    var desk = try IssuerDesk(home)
    try publish(&desk)
  }

  private func publish(_ desk: inout IssuerDesk) throws {
    try desk.publish()
    Terminal.out("published: trust document \(desk.state.version)")
  }

  private func show(_ role: Role, _ change: RotationDesk.Change) {
    Terminal.out("\(role.rawValue)  new key \(change.new)")
    Terminal.out("\(role.rawValue)  old key \(change.old), good until \(Timestamp.text(change.oldUntil))")
  }
}
