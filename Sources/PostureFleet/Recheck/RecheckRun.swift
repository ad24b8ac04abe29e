public import Posture

/// One recheck from the asking to the last answer, as a pure machine: who was asked, who said what.
public struct RecheckRun: Sendable {
  /// What has become of one device.
  public enum Outcome: Hashable, Sendable {
    /// Asked; the last thing it said about its progress.
    case waiting(ProgressState?)
    case answered(ReportFacts)
    case refused(RefusalCode)
    /// What came on its reply topic for this command does not verify.
    case unverifiable(code: String)
    /// Nothing came in time.
    case silent

    public var isFinal: Bool { if case .waiting = self { false } else { true } }

    /// One word for people and for JSON.
    public var word: String {
      switch self {
      case .waiting(let state): state?.rawValue ?? "waiting"
      case .answered: "answered"
      case .refused: "refused"
      case .unverifiable: "unverifiable"
      case .silent: "silent"
      }
    }
  }

  public struct Target: Hashable, Sendable {
    public var outcome: Outcome
    /// Its presence says that it is not connected.
    public var isOffline: Bool
    /// Milliseconds from sending to the outcome.
    public var took: Int64?
    /// What waits for an operator, the worst first.
    public var breaches: [OpenBreach] = []

    /// What its answer counts as: no verdict while its chain of events or its key is in doubt. nil without an answer.
    public var standing: DeviceStatus.Standing? {
      guard case .answered(let facts) = outcome else { return nil }
      return breaches.lazy.compactMap(\.breach.condition).first.map { .condition($0) } ?? .verdict(facts.verdict)
    }
  }

  public struct Counts: Hashable, Sendable {
    public var asked = 0
    public var answered = 0
    public var refused = 0
    public var unverifiable = 0
    public var silent = 0
    public var waiting = 0
    /// Those of ``waiting`` whose presence says that they are not connected.
    var offline = 0
    public var refusals: [RefusalCode: Int] = [:]

    mutating func count(_ target: Target, _ change: Int) {
      asked += change
      switch target.outcome {
      case .waiting:
        waiting += change
        if target.isOffline { offline += change }
      case .answered: answered += change
      case .refused(let code):
        refused += change
        refusals[code, default: 0] += change
      case .unverifiable: unverifiable += change
      case .silent: silent += change
      }
    }
  }

  /// `jti` of the commands sent.
  public private(set) var commands: Set<String>
  /// The nonces that prove a report new.
  public private(set) var nonces: Set<String>
  public private(set) var targets: [Name: Target] = [:]
  /// Kept up to date with every change: thousands of devices answer at once.
  public private(set) var counts = Counts()
  /// The broker was still naming devices when the commands were sent: there may be more than are known.
  public let isPartial: Bool
  /// Why the connection was lost while answers were waited for, if it was.
  public private(set) var loss: String?

  public init(commands: Set<String>, nonces: Set<String>, isPartial: Bool = false) {
    self.commands = commands
    self.nonces = nonces
    self.isPartial = isPartial
  }

  public mutating func lose(_ why: String) { loss = why }

  /// What kept answers or devices from being seen, one line each.
  public var troubles: [String] {
    (isPartial ? ["the broker did not come to an end of naming devices: there may be more than are told here"] : [])
      + (loss.map { ["the connection was lost while answers were waited for: \($0)"] } ?? [])
  }

  /// A device that is asked. One that answers without having been expected is added by its answer.
  public mutating func expect(_ device: Name, isOffline: Bool = false) {
    if targets[device] == nil { set(device, Target(outcome: .waiting(nil), isOffline: isOffline)) }
  }

  /// A device that has not answered has connected, and is asked by one more command.
  public mutating func ask(_ device: Name, command: String, nonce: String) {
    commands.insert(command)
    nonces.insert(nonce)
    set(device, Target(outcome: .waiting(nil), isOffline: false))
  }

  public func isWaiting(for device: Name) -> Bool { targets[device].map { !$0.outcome.isFinal } ?? false }

  private mutating func set(_ device: Name, _ target: Target) {
    if let old = targets[device] { counts.count(old, -1) }
    counts.count(target, 1)
    targets[device] = target
  }

  /// A verified report on the device's reply topic. One without a nonce of ours answers somebody else.
  public mutating func report(_ facts: ReportFacts, from device: Name, after milliseconds: Int64) {
    guard facts.nonces.contains(where: nonces.contains) else { return }
    settle(device, .answered(facts), milliseconds)
  }

  public mutating func progress(_ state: ProgressState, of command: String, from device: Name) {
    guard commands.contains(command) else { return }
    expect(device)
    guard let known = targets[device], !known.outcome.isFinal else { return }
    set(device, Target(outcome: .waiting(state), isOffline: known.isOffline))
  }

  public mutating func refusal(
    _ code: RefusalCode, of command: String, from device: Name, after milliseconds: Int64
  ) {
    guard commands.contains(command) else { return }
    settle(device, .refused(code), milliseconds)
  }

  /// A message on an expected device's reply topic that is not what the device signed. A good answer may still follow,
  /// so that somebody who writes nonsense there cannot silence the device.
  public mutating func rejected(_ code: String, from device: Name) {
    guard let target = targets[device], !target.outcome.isFinal else { return }
    bad[device] = code
  }

  private var bad: [Name: String] = [:]

  private mutating func settle(_ device: Name, _ outcome: Outcome, _ milliseconds: Int64) {
    let known = targets[device] ?? Target(outcome: .waiting(nil), isOffline: false)
    guard !known.outcome.isFinal else { return }
    set(device, Target(outcome: outcome, isOffline: false, took: milliseconds))
  }

  /// Nobody is left to wait for but devices that are not connected.
  public var isComplete: Bool { counts.waiting == counts.offline }

  public mutating func note(_ breaches: [OpenBreach], of device: Name) { targets[device]?.breaches = breaches }

  /// The time is over: whoever has not answered is silent, or unverifiable where only nonsense came.
  public mutating func finish() {
    for (device, target) in targets where !target.outcome.isFinal {
      set(
        device,
        Target(outcome: bad[device].map { .unverifiable(code: $0) } ?? .silent, isOffline: target.isOffline))
    }
  }

  /// `answered 12 of 14, refused 1 (busy 1), silent 1`.
  public var summary: String {
    let codes = counts.refusals.filter { $0.value > 0 }.map { "\($0.key.rawValue) \($0.value)" }.sorted().joined(
      separator: ", ")
    let rest = [
      ("unverifiable", counts.unverifiable), ("silent", counts.silent), ("waiting", counts.waiting),
    ].filter { $0.1 > 0 }.map { "\($0.0) \($0.1)" }
    let refused = codes.isEmpty ? [] : ["refused \(counts.refused) (\(codes))"]
    return (["answered \(counts.answered) of \(counts.asked)"] + refused + rest).joined(separator: ", ")
  }

  /// The first that applies: 5 there may be devices that are not known, 4 nobody was asked or an answer is missing or
  /// does not verify, 3 a device refused, 1 a verdict is fail, 2 one is unknown or in doubt, 0 all pass.
  public var exitStatus: Int32 {
    if isPartial { return 5 }
    if targets.isEmpty { return 4 }
    var (isRefused, isFailed, isPassed) = (false, false, true)
    for target in targets.values {
      switch target.outcome {
      case .waiting, .silent, .unverifiable: return 4
      case .refused: isRefused = true
      case .answered(let facts):
        isFailed = isFailed || facts.verdict == .fail
        isPassed = isPassed && target.standing == .verdict(.pass)
      }
    }
    if isRefused { return 3 }
    if isFailed { return 1 }
    return isPassed ? 0 : 2
  }
}
