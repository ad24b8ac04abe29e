import Glibc

/// What the examined system calls itself.
struct HostName: Sendable {
  /// nil where a tree does not say.
  let name: String?
  /// Names that /etc/hosts gives together with it.
  let others: [String]

  init(_ system: System) {
    name = system.isLive ? Self.running : Self.configured(system)
    guard let name else {
      others = []
      return
    }
    let rows = (system.text("/etc/hosts") ?? "").lines().map { row in
      row.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }.dropFirst().map(String.init)
    }
    others = rows.filter { $0.contains(name) }.flatMap { $0 }.filter { $0 != name }
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

  var short: String? { name.map { String($0.prefix { $0 != "." }) } }

  /// Whether a name or pattern means this host; nil where that cannot be told.
  func matches(_ text: String) -> Bool? {
    guard let name, let short else { return nil }
    let pattern = ShellPattern(text.lowercased())
    let names = ([name, short] + others).map { $0.lowercased() }
    if names.contains(where: pattern.matches) { return true }
    // The full name is known to the resolver only.
    let isFull = text.contains(".") && !name.contains(".")
    return isFull && text.lowercased().hasPrefix(short.lowercased() + ".") ? nil : false
  }
}
