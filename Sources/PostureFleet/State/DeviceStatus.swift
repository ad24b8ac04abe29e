public import Posture
public import PostureTokens

/// How long things may take before they are called late. Seconds.
public struct Limits: Hashable, Sendable {
  /// Age at which a report without an expiry of its own is stale.
  public var reportLife: Int64 = 3_900
  /// A device that has not been heard of for this long is silent.
  public var silence: Int64 = 7_800
  /// Time for events on their way before the chain is called broken.
  public var eventGrace: Int64 = 60

  public init() {}
}

/// What follows from what is known of a device, at one point of time.
public struct DeviceStatus: Hashable, Sendable {
  /// What a device is counted and coloured as.
  public enum Standing: Hashable, Sendable {
    case verdict(Verdict)
    case condition(Condition)

    public var text: String {
      switch self {
      case .verdict(let verdict): verdict.rawValue
      case .condition(let condition): condition.rawValue
      }
    }

    /// Verdicts first, then conditions in their order.
    public static let all =
      [Verdict.pass, .fail, .unknown].map(Standing.verdict) + Condition.allCases.map(Standing.condition)
  }

  /// Every condition that holds, worst first.
  public var conditions: [Condition]
  /// The verdict of the last report, whatever it is worth.
  public var verdict: Verdict?
  /// Seconds since the last report was made, or received where its clock is not trusted; nil without a report.
  public var age: Int64?

  public var standing: Standing {
    if let worst = conditions.first { return .condition(worst) }
    return .verdict(verdict ?? .unknown)
  }

  /// `key`: what the key of the last report is worth now.
  public init(
    _ device: DeviceState, at now: Int64, key: MonitorVerifier.Standing, limits: Limits = Limits()
  ) {
    verdict = device.report?.verdict
    age = device.report.map { max(0, now - (device.isDated ? $0.issued : device.received)) }
    conditions = Condition.allCases.filter { condition in
      switch condition {
      case .revoked: key == .revoked
      case .equivocation: device.isEquivocal
      case .cloned: device.isCloned
      case .unverifiable: device.badReport != nil || key == .expired || key == .notYetValid
      case .awaitingKey: device.isWaiting || key == .awaitingKey
      case .chainBroken:
        device.isForked || device.isRemembered(.chainBroken)
          || device.missingSince.map { now - $0 >= limits.eventGrace } ?? false
      case .trustStale: key == .trustMissing || key == .trustStale || key == .revocationUnknown
      case .silent: Self.isSilent(device, at: now, limits)
      case .stale: Self.isStale(device, at: now, limits)
      case .ageUnproven: device.report != nil && !device.isDated && !device.isAged
      }
    }
  }

  private static func isStale(_ device: DeviceState, at now: Int64, _ limits: Limits) -> Bool {
    guard let report = device.report else { return false }
    if device.isOutdated { return true }
    let end = device.isDated ? report.expires : nil
    return now >= end ?? device.received + limits.reportLife
  }

  /// Never reported although it is enrolled, or not heard of for too long.
  private static func isSilent(_ device: DeviceState, at now: Int64, _ limits: Limits) -> Bool {
    guard let report = device.report else { return !device.isWaiting && device.badReport == nil }
    return now - max(device.heard, report.issued <= now ? report.issued : device.received) >= limits.silence
  }
}
