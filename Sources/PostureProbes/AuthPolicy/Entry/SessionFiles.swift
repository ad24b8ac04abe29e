/// The sessions that display managers offer.
enum SessionFiles {
  static let folders = [
    "/usr/share/wayland-sessions", "/usr/share/xsessions", "/usr/local/share/wayland-sessions",
    "/usr/local/share/xsessions",
  ]

  /// Base names without suffix, the program of each, and what it says XDG_CURRENT_DESKTOP is.
  static func all(_ system: System) -> [(name: String, program: String, desktops: [String])] {
    folders.flatMap { folder in
      ((try? system.list(folder)) ?? []).filter { $0.ends(with: ".desktop") }.map { file in
        let entries = (try? GLibKeyFile(system.text("\(folder)/\(file)") ?? ""))?.entries ?? []
        let value = { (key: String) in entries.last { $0.group == "Desktop Entry" && $0.key == key }?.value ?? "" }
        return (
          String(file.dropLast(".desktop".count)), UnitWords.split(value("Exec")).first ?? "",
          value("DesktopNames").split { $0 == ";" || $0 == ":" }.map(String.init)
        )
      }
    }
  }
}
