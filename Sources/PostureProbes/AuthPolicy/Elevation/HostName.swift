import Glibc

/// What sudo takes for the name of the examined system.
struct HostName: Sendable {
  /// nil where a tree does not say.
  let name: String?
  /// The first name in the row of /etc/hosts that holds it, which the resolver takes for the full one; nil without a row.
  let canonical: String?
  /// Whether sudo asks the resolver; nil where that cannot be told.
  var isResolved: Bool?

  init(_ system: System) {
    let name = system.isLive ? Self.running : Self.configured(system)
    self.name = name
    canonical = name.flatMap { Self.canonical($0.lowercased(), system) }
  }

  private static func canonical(_ name: String, _ system: System) -> String? {
    let rows = (system.text("/etc/hosts") ?? "").lines().lazy.map { row in
      row.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }.dropFirst().map(String.init)
    }
    return rows.first { row in row.contains { $0.lowercased() == name } }?.first
  }

  private static func configured(_ system: System) -> String? {
    let first = (system.text("/etc/hostname") ?? "").lines().map(\.trimmed)
      .first { !$0.isEmpty && !$0.hasPrefix("#") }
    return first
  }

  private static var running: String? {
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, 255) == 0 else { return nil }
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Whether a name or pattern means this host; nil where that cannot be told.
  func matches(_ text: String) -> Bool? {
    guard let name else { return nil }
    let text = text.lowercased()
    let plain = Self.matches(text, name)
    guard isResolved != false else { return plain }
    let resolved = canonical.map { Self.matches(text, $0) } ?? (mayResolve(text, name) ? nil : plain)
    return isResolved == true || resolved == plain ? resolved : nil
  }

  /// A pattern with a dot is held against the whole name, another one against what stands before the first dot.
  private static func matches(_ text: String, _ name: String) -> Bool {
    let name = name.lowercased()
    return ShellPattern(text).matches(text.contains(".") ? name : String(name.prefix { $0 != "." }))
  }

  /// Whether the name that some server gives this host could be meant.
  private func mayResolve(_ text: String, _ name: String) -> Bool {
    guard text.contains("."), !name.contains(".") else { return false }
    return text.hasPrefix(name.lowercased() + ".") || text.contains { "*?[".contains($0) }
  }
}
