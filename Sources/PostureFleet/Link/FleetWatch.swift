public import Posture
import PosturePlatform
import PostureMQTT
import PostureTokens

/// A monitor's view of a site, or of some of its devices, that follows the broker: for one thread, which takes what comes
/// and then looks. It keeps no history; what a monitor of the same folder noticed and nobody has accepted, it knows.
public struct FleetWatch {
  private let home: Home
  private let link: OperatorLink
  public private(set) var fleet: Fleet
  private var policies: PolicyBoard
  /// What is wrong with the connection now.
  public private(set) var trouble: String?
  private var untold: String?
  /// Milliseconds of the boot clock at which the history is read again.
  private var nextRecall: Int64 = 0

  /// Connects as a monitor. `devices`: filters below the site.
  public init(_ home: Home, _ devices: [String] = Gathering.allDevices) throws {
    self.home = home
    fleet = Fleet(trust: try TrustMemory.load(home))
    fleet.recall(try SQLiteHistory.openBreaches(in: home), at: Clock.wall)
    policies = PolicyBoard(root: try home.root())
    let filters = ["trust", "revoked", "revoked/+", "policy", "g/+/policy"] + devices
    link = try OperatorLink(home, as: .monitor, subscribe: filters.map { "\(Topic.prefix)/\(home.site)/\($0)" })
    try link.waitOnline()
  }

  /// Takes in what the broker keeps.
  public mutating func gather() throws(LinkError) {
    var messages: [Message] = []
    let isAll = try link.gather { messages.append($0) }
    messages.forEach { take($0) }
    if !isAll { untold = "the broker did not come to an end of what it keeps: more follows" }
    TrustMemory.save(fleet.verifier, home)
  }

  /// Takes what comes within the time; more than that where messages are waiting.
  public mutating func take(milliseconds: Int64) {
    recall()
    let end = Clock.boottimeMilliseconds + milliseconds
    while true {
      switch link.next(max(0, end - Clock.boottimeMilliseconds)) {
      case .message(let message): take(message)
      case .offline(let why):
        if trouble != why { untold = why }
        trouble = why
      case .online: trouble = nil
      case .nothing: return
      }
      if Clock.boottimeMilliseconds >= end { return }
    }
  }

  /// The monitor sees more than comes here, and operators accept what it noticed.
  private mutating func recall() {
    guard Clock.boottimeMilliseconds >= nextRecall else { return }
    nextRecall = Clock.boottimeMilliseconds + 5_000
    do throws(HistoryError) { fleet.recall(try SQLiteHistory.openBreaches(in: home), at: Clock.wall) } catch {
      untold = error.description
    }
  }

  private mutating func take(_ message: Message) {
    let now = Clock.wall
    if let topic = Topic(message.topic), topic.kinds == [.policy] {
      _ = policies.receive(message.payload, on: topic, trust: fleet.verifier.trust, at: now)
      return
    }
    let before = fleet.verifier.trust.current
    _ = fleet.receive(message.payload, on: message.topic, isRetained: message.retained, at: now)
    guard fleet.verifier.trust.current != before else { return }
    policies.retry(trust: fleet.verifier.trust, at: now)
    TrustMemory.save(fleet.verifier, home)
  }

  /// What went wrong since the last call.
  public mutating func takeTrouble() -> String? {
    defer { untold = nil }
    return untold
  }

  public func rows(at now: Int64) -> [DeviceRow] { fleet.rows(at: now).map(withPolicy) }

  /// nil where nothing is known of it.
  public func detail(_ name: Name, at now: Int64) -> DeviceDetail? {
    guard var detail = DeviceDetail(name, in: fleet, at: now) else { return nil }
    detail.row = withPolicy(detail.row)
    return detail
  }

  private func withPolicy(_ row: DeviceRow) -> DeviceRow {
    var row = row
    row.duePolicy = policies.due(row)
    return row
  }

  public func close() { link.close() }

  /// `site-a: 3 devices; pass 2, stale 1`.
  public func summary(at now: Int64) -> String {
    let counts = fleet.counts(at: now).filter { $0.count > 0 }.map { "\($0.standing.text) \($0.count)" }
    return "\(home.site): \(fleet.devices.count) devices"
      + (counts.isEmpty ? "" : "; " + counts.joined(separator: ", "))
  }
}
