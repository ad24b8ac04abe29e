/// One session that display managers offer.
struct Session: Sendable {
  /// Base name of its file, without suffix.
  var name: String
  /// What it starts, after all programs that only start another.
  var program: String
  /// What it says XDG_CURRENT_DESKTOP is, the most particular name first.
  var desktops: [String]
}

/// The sessions that display managers offer (Desktop Entry Specification).
enum SessionFiles {
  static let folders = [
    "/usr/share/wayland-sessions", "/usr/share/xsessions", "/usr/local/share/wayland-sessions",
    "/usr/local/share/xsessions",
  ]

  private static let suffix = ".desktop"

  static func all(_ system: System) -> [Session] {
    let sessions = folders.flatMap { folder in
      ((try? system.list(folder)) ?? []).filter { $0.ends(with: suffix) }.map { session($0, folder, system) }
    }
    return sessions.map { resolved($0, sessions) }
  }

  private static func session(_ file: String, _ folder: String, _ system: System) -> Session {
    let entries = (try? GLibKeyFile(system.text("\(folder)/\(file)") ?? ""))?.entries ?? []
    let value = { (key: String) in entries.last { $0.group == "Desktop Entry" && $0.key == key }?.value ?? "" }
    let words = UnitWords.split(value("Exec"))
    return Session(
      name: String(file.dropLast(suffix.count)), program: (SimpleCommands.of(words).first ?? words).first ?? "",
      desktops: value("DesktopNames").split { $0 == ";" || $0 == ":" }.map(String.init))
  }

  /// uwsm(1) takes another session's file in place of a program.
  private static func resolved(_ session: Session, _ all: [Session]) -> Session {
    guard session.program.ends(with: suffix),
      let other = all.first(where: { session.program == $0.name + suffix })
    else { return session }
    var session = session
    session.program = other.program
    return session
  }
}
