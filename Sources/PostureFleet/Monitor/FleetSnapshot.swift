/// The rows of every device as of a moment ago, for those who only look.
public struct FleetSnapshot: Sendable {
  public private(set) var rows: [String: DeviceRow] = [:]
  public private(set) var at: Int64 = 0

  mutating func merge(_ changed: [DeviceRow], isFull: Bool, at now: Int64) {
    if isFull { rows = [:] }
    for row in changed { rows[row.name] = row }
    at = now
  }

  /// By the text of the standing; those of none are left out.
  public var counts: [String: Int] { rows.values.reduce(into: [:]) { $0[$1.standing.text, default: 0] += 1 } }

  /// A part of the table.
  public func window(_ selection: RowSelection, offset: Int, limit: Int) -> (total: Int, rows: [DeviceRow]) {
    let all = Array(rows.values)
    let places = selection.places(in: all)
    return (places.count, places.dropFirst(offset).prefix(limit).map { all[$0] })
  }

  /// The findings that most devices have, worst first.
  public func worstFindings(_ count: Int) -> [(code: String, devices: Int)] {
    var devices: [String: Int] = [:]
    for row in rows.values { for code in Set(row.codes) { devices[code, default: 0] += 1 } }
    return devices.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(count).map { ($0.key, $0.value) }
  }
}
