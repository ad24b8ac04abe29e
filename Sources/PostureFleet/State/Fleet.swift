public import Posture

/// Every device of a site, and how far the trust in what they say goes.
public struct Fleet: Sendable {
  /// Names that only messages which do not verify speak of: a lying broker can invent as many as it likes.
  public static let strangerCap = 1_000

  public private(set) var devices: [Name: DeviceState] = [:]
  public private(set) var strangers = 0
  /// Messages about more unknown names than are kept.
  public private(set) var unkept = 0
  /// Seconds since the epoch; nil: no trust document is known.
  public var trustExpires: Int64?
  public var limits = Limits()

  public init() {}

  public mutating func observe(_ observation: Observation, of name: Name, at now: Int64) {
    if devices[name] == nil {
      if observation.isFromStranger {
        guard strangers < Self.strangerCap else {
          unkept += 1
          return
        }
        strangers += 1
      }
      devices[name] = DeviceState(name, at: now)
    }
    devices[name]?.observe(observation, at: now)
  }

  public func status(of name: Name, at now: Int64) -> DeviceStatus? {
    devices[name].map { status(of: $0, at: now) }
  }

  public func status(of device: DeviceState, at now: Int64) -> DeviceStatus {
    DeviceStatus(device, at: now, trustExpired: isTrustExpired(at: now), limits: limits)
  }

  public func isTrustExpired(at now: Int64) -> Bool { trustExpires.map { now >= $0 } ?? true }

  /// How many devices stand where, at `now`; every standing is listed.
  public func counts(at now: Int64) -> [(standing: DeviceStatus.Standing, count: Int)] {
    var counts: [DeviceStatus.Standing: Int] = [:]
    for device in devices.values { counts[status(of: device, at: now).standing, default: 0] += 1 }
    return DeviceStatus.Standing.all.map { ($0, counts[$0] ?? 0) }
  }
}

extension Observation {
  /// Nobody vouches for the name.
  fileprivate var isFromStranger: Bool {
    switch self {
    case .waiting, .rejected: true
    default: false
    }
  }
}
