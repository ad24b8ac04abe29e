public import Posture
import PosturePlatform
import PostureMQTT
import PostureTokens

/// Asks devices for a report made now, and collects what they say.
public final class Recheck {
  public enum Target: Hashable, Sendable {
    case devices([Name])
    case group(Name)
    case all
  }

  public struct Options: Sendable {
    public var command = RecheckCommand.Options()
    /// Milliseconds from sending until silence is an answer.
    public var timeout: Int64 = 30_000
    /// Milliseconds from sending for which a device that is not connected is waited for: it may be coming back just now.
    public var absence: Int64 = 3_000
    /// Milliseconds without a retained message after which all of them are thought to be here.
    public var quiet: Int64 = 300
    /// Milliseconds after which a broker that still sends retained messages is not waited for any longer.
    public var gathering = OperatorLink.longestGathering

    public init() {}
  }

  private let home: Home
  private let identity: Identity
  private let target: Target
  private let options: Options
  private let link: OperatorLink
  public private(set) var fleet: Fleet
  public private(set) var run = RecheckRun(commands: [], nonces: [])
  /// The reports that answered, as they were signed.
  public private(set) var tokens: [Name: String] = [:]
  /// The broker had sent all that it keeps before the commands were sent.
  private var isGathered = false
  /// Milliseconds of the boot clock when the last command was taken by the broker.
  private var sentAt: Int64 = 0
  /// The connection in which each device was asked, by its challenge.
  private var askedIn: [Name: String] = [:]

  /// Connects, and gathers who there is.
  public init(_ home: Home, as identity: Identity, _ target: Target, _ options: Options) throws {
    self.home = home
    self.identity = identity
    self.target = target
    self.options = options
    fleet = Fleet(trust: try TrustMemory.load(home))
    fleet.recall(try SQLiteHistory.openBreaches(in: home), at: Clock.wall)
    link = try OperatorLink(home, as: .controller, subscribe: Self.filters(target, home.site))
    try link.waitOnline()
    try gather()
  }

  private static func filters(_ target: Target, _ site: Name) -> [String] {
    let root = "\(Topic.prefix)/\(site)"
    let names =
      switch target {
      case .devices(let devices): devices.map(\.description)
      case .group, .all: ["+"]
      }
    return ["trust", "revoked", "revoked/+"].map { "\(root)/\($0)" }
      + names.flatMap { name in ["keys", "presence", "reply"].map { "\(root)/d/\(name)/\($0)" } }
  }

  // MARK: Who there is

  private func gather() throws(LinkError) {
    isGathered = try link.gather(quiet: options.quiet, cap: options.gathering, until: { hasEverything }) { take($0) }
    TrustMemory.save(fleet.verifier, home)
  }

  /// Single devices are known to be complete as soon as each has shown its key and its presence.
  private var hasEverything: Bool {
    guard case .devices(let names) = target, fleet.verifier.trust.current != nil else { return false }
    return names.allSatisfy { name in
      fleet.devices[name].map { $0.kid != nil && $0.isOnline != nil } ?? false
    }
  }

  // MARK: Asking

  /// Signs and sends. The commands are on their way when this returns.
  public func send() throws {
    let commands = try audiences.map { audience, challenge in
      var command = options.command
      command.challenge = challenge
      return try RecheckCommand(audience, from: identity, at: Clock.wall, command)
    }
    run = RecheckRun(
      commands: Set(commands.map(\.claims.id)), nonces: Set(commands.map(\.claims.nonce)), isPartial: !isGathered)
    expectAsked()
    for device in run.targets.keys { askedIn[device] = fleet.devices[device]?.challenge }
    sentAt = Clock.boottimeMilliseconds
    for command in commands { try link.publish(command.publication) }
  }

  private func expectAsked() {
    for device in asked { run.expect(device, isOffline: fleet.devices[device]?.isOnline == false) }
  }

  /// A command is not kept for a device that was not connected when it came.
  private func askAgain(_ device: Name) {
    guard run.isWaiting(for: device), let state = fleet.devices[device], state.isOnline == true,
      let challenge = state.challenge, challenge != askedIn[device]
    else { return }
    askedIn[device] = challenge
    var options = options.command
    (options.challenge, options.spread) = (challenge, nil)
    // Where the link is gone, so is the wait for an answer.
    guard
      let command = try? RecheckCommand(
        .device(Party(home.site, device)), from: identity, at: Clock.wall, options),
      (try? link.publish(command.publication)) != nil
    else { return }
    run.ask(device, command: command.claims.id, nonce: command.claims.nonce)
  }

  private var audiences: [(Audience, String?)] {
    switch target {
    case .devices(let names):
      names.map { (.device(Party(home.site, $0)), fleet.devices[$0]?.challenge) }
    case .group(let group): [(.group(site: home.site, group), nil)]
    case .all: [(.site(home.site), nil)]
    }
  }

  private var asked: [Name] {
    switch target {
    case .devices(let names): names
    case .group(let group): enrolled.filter { $0.value.groups.contains(group.description) }.map(\.key)
    case .all: enrolled.map(\.key)
    }
  }

  /// Those whose key would be believed now.
  private var enrolled: [Name: DeviceState] {
    let now = Moment(Clock.wall)
    return fleet.devices.filter { $0.value.kid.map { fleet.verifier.standing(of: $0, at: now) } == .good }
  }

  /// Collects answers until all have come or the time is over. `progress` is called after each change.
  public func collect(_ progress: (RecheckRun) -> Void = { _ in }) {
    let end = sentAt + options.timeout
    while !isOver, Clock.boottimeMilliseconds < end {
      switch link.next(min(200, end - Clock.boottimeMilliseconds)) {
      case .message(let message): take(message)
      case .offline(let why): run.lose(why)
      case .online, .nothing: break
      }
      progress(run)
    }
    // A command to a group or to all has reached those too whom the broker named only since.
    expectAsked()
    run.finish()
    noteBreaches()
    link.close()
  }

  private func noteBreaches() {
    let now = Clock.wall
    for device in run.targets.keys {
      guard let status = fleet.status(of: device, at: now) else { continue }
      run.note(fleet.breaches(of: device, status.conditions), of: device)
    }
  }

  private var isOver: Bool {
    !run.isPartial && run.isComplete
      && (run.counts.waiting == 0 || Clock.boottimeMilliseconds >= sentAt + options.absence)
  }

  private func take(_ message: Message) {
    let before = fleet.counters.rejected
    let verified = fleet.receive(message.payload, on: message.topic, isRetained: message.retained, at: Clock.wall)
    for message in verified { take(message) }
    guard verified.isEmpty, fleet.counters.rejected != before, let topic = Topic(message.topic),
      case .reply(let device) = topic.place
    else { return }
    let code = fleet.counters.rejected.first { $0.value != before[$0.key] ?? 0 }?.key ?? "rejected"
    run.rejected(code, from: device)
  }

  private func take(_ message: MonitorVerifier.Message) {
    if case .presence = message.content { askAgain(message.device) }
    guard case .reply = message.topic.place else { return }
    let took = Clock.boottimeMilliseconds - sentAt
    switch message.content {
    case .report(let claims):
      let facts = ReportFacts(claims, kid: message.kid, keyIssued: 0, digest: message.token.digest)
      let standing = fleet.verifier.standing(of: message.kid, at: Moment(Clock.wall))
      guard standing == .good else { return run.rejected(standing.rawValue, from: message.device) }
      run.report(facts, from: message.device, after: took)
      if facts.nonces.contains(where: run.nonces.contains) { tokens[message.device] = message.token.text }
    case .progress(let claims): run.progress(claims.state, of: claims.command, from: message.device)
    case .refusal(let claims): run.refusal(claims.code, of: claims.command, from: message.device, after: took)
    case .event, .presence: break
    }
  }
}
