/// Puts the system volume before every door that opens only once per boot.
enum BehindVolume {
  static func resolve(_ doors: [Door]) -> [Door] {
    guard let volume = doors.first(where: \.holdsSystem), volume.opening != .always else { return doors }
    return doors.map { door in
      guard door.oncePerBoot, door.behind == nil else { return door }
      var door = door
      door.behind = volume.name
      return door
    }
  }
}
