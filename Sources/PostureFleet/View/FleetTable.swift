import Posture
public import PostureTerminal

/// The fleet as lines of a terminal.
public struct FleetTable {
  private let rows: [DeviceRow]
  private let now: Int64

  public init(_ rows: [DeviceRow], at now: Int64) {
    self.rows = rows
    self.now = now
  }

  /// Below this width state and policy share a column, and only an absent connection is told.
  private static let wide = 110

  /// `width` columns wide, at most `height` lines long; what does not fit is counted.
  public func lines(width: Int, height: Int = .max) -> [String] {
    var table = width < Self.wide ? narrow : broad
    table.breaksWords = true
    let lines = table.lines(width: width)
    guard lines.count > height else { return lines }
    return lines.prefix(max(1, height - 1)) + [Terminal.paint("… \(rows.count) devices in all", .dim)]
  }

  private var broad: Table {
    var table = Table("DEVICE", "STATE", "POLICY", "SINCE", "AGE", "ON", "WHY")
    for row in rows {
      table.add(
        Table.Cell(Columns.shortened(row.name, to: 24)), Table.Cell(row.standing.text, row.standing.colour),
        Table.Cell(policy(row)), since(row), age(row), Table.Cell(row.isOnline.map { $0 ? "yes" : "no" } ?? "?"),
        Table.Cell(row.why))
    }
    return table
  }

  private var narrow: Table {
    var table = Table("DEVICE", "STATE (POLICY)", "SINCE", "AGE", "WHY")
    for row in rows {
      let state = Columns.shortened("\(row.standing.text) (\(policy(row)))", to: 22)
      let why = (row.isOnline == false ? "offline; " : "") + row.why
      table.add(
        Table.Cell(Columns.shortened(row.name, to: 16)), Table.Cell(state, row.standing.colour), since(row), age(row),
        Table.Cell(why))
    }
    return table
  }

  private func since(_ row: DeviceRow) -> Table.Cell { Table.Cell(row.span(at: now) ?? "-") }
  private func age(_ row: DeviceRow) -> Table.Cell { Table.Cell(row.age.map(Span.text) ?? "-") }

  private func policy(_ row: DeviceRow) -> String {
    let name = Columns.shortened(row.policy ?? "-", to: 10)
    return row.duePolicy.map { "\(name)→\(Columns.shortened($0, to: 10))" } ?? name
  }
}

extension DeviceStatus.Standing {
  public var colour: Terminal.Colour {
    switch self {
    case .verdict(.pass): .green
    case .verdict(.fail): .red
    case .verdict(.unknown): .yellow
    case .condition(let condition): condition >= .stale ? .yellow : .red
    }
  }
}

/// A device's state in one line, for output that is no terminal: only what changed.
public enum FleetLine {
  /// `2026-11-30T02:31:05Z edge-1 fail (entry) autologin pi: agetty --autologin pi`.
  public static func text(_ row: DeviceRow, at now: Int64) -> String {
    let verdict = row.policy.map { "\(row.standing.text) (\($0))" } ?? row.standing.text
    let presence = row.isOnline.map { $0 ? "online" : "offline" } ?? "presence unknown"
    return "\(Timestamp.text(now)) \(Terminal.plain(row.name)) \(Terminal.plain(verdict)) \(presence)"
      + (row.why.isEmpty ? "" : ": \(Terminal.plain(row.why))")
  }
}
