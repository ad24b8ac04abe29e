public import Posture
import PosturePlatform
import PostureMQTT
import Synchronization

/// Sends rechecks for the monitor's page, with the controller key that it was given.
public final class RecheckAsker: Sendable {
  private let home: Home
  private let identity: Identity
  /// One at a time: each makes a connection of its own.
  private let turn = Mutex(())

  public init(_ home: Home) throws(HomeError) {
    self.home = home
    identity = try Identity(.controller, in: home)
  }

  /// Returns once the broker has the command; the answer comes to the monitor as any report does.
  public func ask(_ device: Name, challenge: String?, _ monitor: Monitor) throws {
    var options = RecheckCommand.Options()
    options.challenge = challenge
    let command = try RecheckCommand(
      .device(Party(home.site, device)), from: identity, at: Clock.wall, options)
    monitor.expect(command.claims.nonce)
    try turn.withLock { _ in
      let link = try OperatorLink(home, as: .controller, subscribe: [])
      try link.waitOnline(5_000)
      try link.publish(command.publication, 5_000)
      link.close()
    }
  }
}
