/// Rows of doors: one per door and subject, whoever speaks of it.
public struct DoorRows {
  public private(set) var doors: [Door] = []
  private var positions: [Key: Int] = [:]

  private struct Key: Hashable {
    var name: String
    var subject: String
  }

  public init(_ doors: [Door] = []) {
    for door in doors { add(door) }
  }

  /// Adds a row; one that is there already opens with either.
  public mutating func add(_ door: Door) {
    let key = Key(name: door.name, subject: door.subject)
    guard let position = positions[key] else {
      positions[key] = doors.count
      doors.append(door)
      return
    }
    doors[position] = Self.weaker(doors[position], door)
  }

  /// The row that both together are: open where one is open, unknown where one is unknown.
  private static func weaker(_ first: Door, _ second: Door) -> Door {
    let both = [first, second]
    let open = both.filter { $0.answer == .notRequired }
    var door =
      open.first { !$0.oncePerBoot } ?? open.first ?? both.first { $0.opening == nil }
      ?? both.first { $0.answer != .closed } ?? second
    if let mine = first.opening, let other = second.opening { door.opening = mine.or(other) }
    door.isDefault = first.isDefault || second.isDefault
    door.counts = first.counts || second.counts
    door.holdsSystem = first.holdsSystem || second.holdsSystem
    return door
  }
}
