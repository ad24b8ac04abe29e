/// What an administrator may set on a device: `/etc/posture/agent.json`, JSON with comments. Nothing in it is needed;
/// who the device is and where its broker is comes from the enrolment.
public struct AgentConfiguration: Hashable, Sendable {
  public static let standardPath = "/etc/posture/agent.json"

  public enum Clock: String, Sendable, CaseIterable {
    /// The kernel is asked whether somebody keeps the clock.
    case auto
    /// The administrator vouches for it, as on a virtual machine whose host keeps it.
    case trusted
  }

  /// The folder of the device's state.
  public var state = "/var/lib/posture"
  /// The Unix socket on which the attester answers.
  public var socket = "/run/posture/attester.sock"
  /// The broker, where it is another than the enrolment says.
  public var broker: EnrolmentBundle.Broker?
  /// Seconds. A dead link is noticed within twice this time and a second.
  public var keepalive = 60
  /// Seconds between two reports when nothing happens.
  public var period = 3_600
  /// Seconds between two reports on command in the long term; 0 sets no limit.
  public var recheckInterval = 30
  public var clock = Clock.auto
  /// Seconds: the longest wait between two attempts to reach the broker, where nobody has to put anything right first.
  public var longestWait = 120

  public init() {}

  public init(json: JSON) throws(ConfigurationError) {
    guard let members = json.members else { throw ConfigurationError("not an object") }
    for member in members { try set(member) }
  }

  private mutating func set(_ member: JSON.Member) throws(ConfigurationError) {
    let (name, value) = (member.name, member.value)
    switch name {
    case "state": state = try Self.path(name, value)
    case "socket": socket = try Self.path(name, value)
    case "broker": broker = try Self.broker(value)
    case "keepalive": keepalive = try Self.number(name, value, 5...1_800)
    case "period": period = try Self.number(name, value, 10...86_400)
    case "recheckInterval": recheckInterval = try Self.number(name, value, 0...3_600)
    case "clock":
      guard let clock = value.string.flatMap(Clock.init(rawValue:)) else {
        throw ConfigurationError("clock: \"auto\" or \"trusted\"")
      }
      self.clock = clock
    case "longestWait": longestWait = try Self.number(name, value, 1...3_600)
    case "$schema": return
    default: throw ConfigurationError("unknown member \"\(name)\"")
    }
  }

  private static func path(_ name: String, _ value: JSON) throws(ConfigurationError) -> String {
    guard let path = value.string, path.hasPrefix("/"), path.utf8.count <= 1_024 else {
      throw ConfigurationError("\(name): an absolute path")
    }
    return path
  }

  private static func number(_ name: String, _ value: JSON, _ range: ClosedRange<Int>) throws(ConfigurationError) -> Int
  {
    guard let number = value.integer, range.contains(Int(number)) else {
      throw ConfigurationError("\(name): a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return Int(number)
  }

  private static func broker(_ value: JSON) throws(ConfigurationError) -> EnrolmentBundle.Broker {
    guard value.members?.count == 3, let host = value["host"]?.string, let name = value["serverName"]?.string,
      !host.isEmpty, !name.isEmpty
    else { throw ConfigurationError("broker: an object of host, port and serverName") }
    return EnrolmentBundle.Broker(
      host: host, port: try number("broker.port", value["port"] ?? .null, 1...65_535), serverName: name)
  }

  public var json: JSON {
    .build { object in
      object("state", .string(state))
      object("socket", .string(socket))
      if let broker {
        object(
          "broker",
          [
            "host": .string(broker.host), "port": .integer(Int64(broker.port)),
            "serverName": .string(broker.serverName),
          ])
      }
      object("keepalive", .integer(Int64(keepalive)))
      object("period", .integer(Int64(period)))
      object("recheckInterval", .integer(Int64(recheckInterval)))
      object("clock", .string(clock.rawValue))
      object("longestWait", .integer(Int64(longestWait)))
    }
  }
}

/// What is wrong in a configuration.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}
