/// The sessions that display managers offer.
enum SessionFiles {
  static let folders = [
    "/usr/share/wayland-sessions", "/usr/share/xsessions", "/usr/local/share/wayland-sessions",
    "/usr/local/share/xsessions",
  ]

  /// Base names without suffix, and the program of each.
  static func all(_ system: System) -> [(name: String, program: String)] {
    folders.flatMap { folder in
      ((try? system.list(folder)) ?? []).filter { $0.ends(with: ".desktop") }.map { file in
        let entries = (try? GLibKeyFile(system.text("\(folder)/\(file)") ?? ""))?.entries ?? []
        let command = entries.last { $0.group == "Desktop Entry" && $0.key == "Exec" }?.value ?? ""
        return (String(file.dropLast(".desktop".count)), UnitWords.split(command).first ?? "")
      }
    }
  }
}
