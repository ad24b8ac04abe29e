/// Programs of the examined system: where they are, and what a name really is.
enum Programs {
  private static let searchPath = [
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/run/wrappers/bin",
    "/run/current-system/sw/bin",
  ]

  /// The first place where a program of this name is.
  static func path(_ name: String, _ system: System) -> String? {
    system.shared { Folders(system) }.paths.map { "\($0)/\(name)" }.first(where: system.hasEntry)
  }

  /// Those that are there, each once: /bin is a link to /usr/bin on most systems.
  private struct Folders {
    let paths: [String]

    init(_ system: System) {
      var seen = Set<[UInt64]>()
      paths = searchPath.filter { path in
        (try? system.status(path)).map { seen.insert([$0.device, $0.inode]).inserted } ?? false
      }
    }
  }

  static func has(_ name: String, _ system: System) -> Bool { path(name, system) != nil }

  /// The last path of a chain of links, relative ones resolved; `path` itself where it is none.
  static func target(of path: String, _ system: System) -> String {
    var path = path
    for _ in 0..<16 {
      guard let next = system.link(path) else { break }
      path = next.hasPrefix("/") ? next : join(path, next)
    }
    return path
  }

  private static func join(_ path: String, _ relative: String) -> String {
    var parts = path.split(separator: "/").dropLast().map(String.init)
    for part in relative.split(separator: "/") {
      if part == ".." { _ = parts.popLast() } else if part != "." { parts.append(String(part)) }
    }
    return "/" + parts.joined(separator: "/")
  }

  /// The last component of a path.
  static func base(_ path: String) -> String {
    path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? path
  }

  /// Whether a program is BusyBox under another name.
  static func isBusyBox(_ path: String, _ system: System) -> Bool {
    base(target(of: path, system)).hasPrefix("busybox")
  }
}
