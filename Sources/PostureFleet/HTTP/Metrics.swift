import Posture
import PosturePlatform
import PostureTokens

/// The fleet in the words of Prometheus: OpenMetrics 1.0, or the older text format 0.0.4.
struct Metrics {
  private let monitor: Monitor
  private let isOpenMetrics: Bool

  init(_ monitor: Monitor, isOpenMetrics: Bool) {
    self.monitor = monitor
    self.isOpenMetrics = isOpenMetrics
  }

  var text: String {
    let snapshot = monitor.snapshot
    let counts = snapshot.counts
    let counters = monitor.counters
    let link = monitor.linkState
    let rows = snapshot.rows.values.sorted { $0.name < $1.name }
    var lines: [String] = []
    lines += gauge(
      "posture_devices", "Devices by state.",
      DeviceStatus.Standing.all.map { ([("state", $0.text)], counts[$0.text] ?? 0) })
    lines += gauge(
      "posture_device_pass", "1 where the device's state is a fresh, verified pass, else 0.",
      rows.map { ([("device", $0.name)], $0.standing == .verdict(.pass) ? 1 : 0) })
    lines += gauge(
      "posture_device_state", "The state of each device that is not a pass: 1 under its label.",
      rows.filter { $0.standing != .verdict(.pass) }.map { ([("device", $0.name), ("state", $0.standing.text)], 1) })
    lines += gauge(
      "posture_device_report_age_seconds", "Age of the last verified report.",
      rows.compactMap { row in row.age.map { ([("device", row.name)], Int($0)) } })
    lines += gauge(
      "posture_findings", "Devices with a finding of severity high, by its code.",
      findings(snapshot))
    lines += gauge(
      "posture_policy_due", "Devices that are not yet on the policy that was published for them.",
      [([], rows.count { $0.duePolicy != nil })])
    lines += gauge(
      "posture_broker_connected", "1 while the monitor is connected to the broker.", [([], link.isOnline ? 1 : 0)])
    lines += gauge(
      "posture_trust_expiry_timestamp_seconds", "When the trust document ends; 0 without one.",
      [([], Int(monitor.trust?.expires ?? 0))])
    lines += gauge(
      "posture_history_failing", "1 while history cannot be written.", [([], monitor.historyTrouble == nil ? 0 : 1)])
    lines += counter("posture_messages", "Messages received.", [([], counters.messages)])
    lines += counter("posture_messages_verified", "Messages that verified.", [([], counters.verified)])
    lines += counter(
      "posture_messages_rejected", "Messages that were refused, by reason.",
      TokenError.Code.allCases.map { ([("code", $0.rawValue)], counters.rejected[$0.rawValue] ?? 0) })
    lines += counter(
      "posture_messages_dropped", "Messages that waited for a credential until there was no room for them any more.",
      [([], counters.dropped)])
    lines += counter("posture_history_stored", "Messages stored in the history.", [([], monitor.stored)])
    lines += counter(
      "posture_history_dropped", "Messages that could not be stored in the history, and are lost.",
      [([], monitor.dropped)])
    if isOpenMetrics { lines.append("# EOF") }
    return lines.joined(separator: "\n") + "\n"
  }

  /// A device names its findings itself: codes that nobody knows are one.
  private func findings(_ snapshot: FleetSnapshot) -> [([(String, String)], Int)] {
    var devices: [String: Int] = ["other": 0]
    for (code, count) in snapshot.worstFindings(.max) {
      devices[FindingCatalogue[code] == nil ? "other" : code, default: 0] += count
    }
    return devices.sorted { $0.key < $1.key }.map { ([("code", $0.key)], $0.value) }
  }

  private func gauge(_ name: String, _ help: String, _ samples: [([(String, String)], Int)]) -> [String] {
    ["# HELP \(name) \(help)", "# TYPE \(name) gauge"] + samples.map { sample(name, $0.0, $0.1) }
  }

  /// OpenMetrics names the family without `_total`, the older format with it.
  private func counter(_ name: String, _ help: String, _ samples: [([(String, String)], Int)]) -> [String] {
    let family = isOpenMetrics ? name : "\(name)_total"
    return ["# HELP \(family) \(help)", "# TYPE \(family) counter"]
      + samples.map { sample("\(name)_total", $0.0, $0.1) }
  }

  private func sample(_ name: String, _ labels: [(String, String)], _ value: Int) -> String {
    guard !labels.isEmpty else { return "\(name) \(value)" }
    return name + "{" + labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",") + "} \(value)"
  }

  private static func escaped(_ text: String) -> String {
    text.reduce(into: "") { out, character in
      switch character {
      case "\\": out += "\\\\"
      case "\"": out += "\\\""
      case "\n": out += "\\n"
      default: out.append(character)
      }
    }
  }
}
