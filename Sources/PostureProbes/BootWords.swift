import Posture

/// The kernel command line that this system boots with, as far as its files tell.
struct BootWords: Sendable {
  let words: [String]
  /// The file it was read from; nil where none says anything.
  let place: Place?

  /// The running one, else what a boot loader's files hold.
  init(_ system: System) {
    let found =
      Self.file(system) ?? Self.entry(system) ?? Self.menu(system, Self.menus, ["linux", "linux16", "linuxefi"])
      ?? Self.menu(system, Self.extlinux, ["append"]) ?? Self.settings(system)
    words = found?.words ?? []
    place = found?.place
  }

  private typealias Found = (words: [String], place: Place)

  /// Files that hold the line and nothing else.
  private static let files = [
    "/proc/cmdline", "/boot/firmware/cmdline.txt", "/boot/cmdline.txt", "/etc/kernel/cmdline",
    "/usr/lib/kernel/cmdline",
  ]

  private static func file(_ system: System) -> Found? {
    for path in files {
      let words = (system.text(path) ?? "").split(whereSeparator: \.isWhitespace).map(String.init)
      if !words.isEmpty { return (words, Place(path, line: 1)) }
    }
    return nil
  }

  /// The first entry of systemd-boot's that names any.
  private static func entry(_ system: System) -> Found? {
    for folder in ["/boot/loader/entries", "/efi/loader/entries", "/boot/efi/loader/entries"] {
      let names = ((try? system.list(folder)) ?? []).filter { $0.ends(with: ".conf") }
      for name in names.prefix(16) {
        let found = lines(system, "\(folder)/\(name)", ["options"])
        if let first = found.first { return (found.flatMap(\.words), first.place) }
      }
    }
    return nil
  }

  private static let menus = ["/boot/grub/grub.cfg", "/boot/grub2/grub.cfg"]
  private static let extlinux = ["/boot/extlinux/extlinux.conf", "/boot/extlinux.conf"]

  /// Of the first kernel that a menu loads: the entry that starts by itself, unless somebody chose another.
  private static func menu(_ system: System, _ paths: [String], _ keywords: Set<String>) -> Found? {
    paths.lazy.compactMap { lines(system, $0, keywords).first }.first
  }

  /// Lines that begin with one of the keywords, without it.
  private static func lines(_ system: System, _ path: String, _ keywords: Set<String>) -> [Found] {
    let text = (try? system.read(path, cap: 8 << 20))?.text ?? ""
    return LogicalLines(text, comments: ["#"]).compactMap { line in
      let words = line.text.split(whereSeparator: \.isWhitespace).map(String.init)
      guard let first = words.first, keywords.contains(first.lowercased()) else { return nil }
      return (Array(words.dropFirst()), Place(path, line: line.number))
    }
  }

  /// What the next grub.cfg will be made of.
  private static func settings(_ system: System) -> Found? {
    let path = "/etc/default/grub"
    let lines = LogicalLines(system.text(path) ?? "", comments: ["#"]).filter {
      $0.text.hasPrefix("GRUB_CMDLINE_LINUX")
    }
    guard let first = lines.first else { return nil }
    let values = lines.flatMap { line in
      line.text.drop { $0 != "=" }.dropFirst().filter { $0 != "\"" && $0 != "'" }.split(whereSeparator: \.isWhitespace)
    }
    return (values.map(String.init), Place(path, line: first.number))
  }

  // MARK: Words

  /// The value of the last word `name=value`; "" for the bare name; "-" and "_" are the same.
  func value(_ name: String) -> String? {
    for word in words.reversed() {
      let key = word.prefix { $0 != "=" }
      if String(key).substituting("-", with: "_") == name { return String(word.dropFirst(key.count + 1)) }
    }
    return nil
  }

  /// `systemd.set_credential=NAME:VALUE`
  func credential(_ name: String) -> String? { last(after: "systemd.set_credential=\(name):") }

  /// `systemd.setenv=NAME=VALUE`: a variable of every service.
  func environment(_ name: String) -> String? { last(after: "systemd.setenv=\(name)=") }

  private func last(after label: String) -> String? {
    words.last { $0.hasPrefix(label) }.map { String($0.dropFirst(label.utf8.count)) }
  }
}
