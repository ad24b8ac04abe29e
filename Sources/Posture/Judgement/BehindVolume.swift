/// Puts the system volume before every door that opens only once per boot.
enum BehindVolume {
  static let root = "volume:root"

  static func resolve(_ doors: [Door]) -> [Door] {
    let front = doors.first(where: \.holdsSystem) ?? doors.first { $0.name == root }
    guard let volume = front, volume.opening != .always else { return doors }
    return doors.map { door in
      guard door.oncePerBoot, door.behind == nil else { return door }
      var door = door
      door.behind = volume.name
      return door
    }
  }
}
