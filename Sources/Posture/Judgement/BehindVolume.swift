/// Puts the system volume before every door that opens only once per boot.
enum BehindVolume {
  static let root = "volume:root"

  static func resolve(_ doors: [Door]) -> [Door] {
    guard let volume = front(doors), volume.opening != .always else { return doors }
    return doors.map { door in
      guard door.oncePerBoot, door.behind == nil else { return door }
      var door = door
      door.behind = volume.name
      return door
    }
  }

  /// All volumes that the system lies on have to be open before it starts: it is behind the one that asks most.
  private static func front(_ doors: [Door]) -> Door? {
    let volumes = doors.filter(\.holdsSystem)
    let mostFirst: [Answer] = [.required, .closed, .unknown, .notRequired]
    return mostFirst.lazy.compactMap { answer in volumes.first { $0.answer == answer } }.first
      ?? doors.first { $0.name == root }
  }
}
