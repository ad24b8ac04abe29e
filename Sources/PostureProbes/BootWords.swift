import Posture

/// The kernel command line that this system boots with, as far as its files tell.
struct BootWords: Sendable {
  let words: [String]
  /// The file it was read from; nil where none says anything.
  let place: Place?

  /// The running one, else what a boot loader's files hold.
  init(_ system: System) {
    let found =
      Self.file(system) ?? Self.menu(system) ?? Self.variables(system) ?? Self.settings(system) ?? Self.addition(system)
    words = found?.words ?? []
    place = found?.place
  }

  private typealias Found = (words: [String], place: Place)

  /// A file that holds the line and nothing else. Where there is a running one, no other is looked for.
  private static func file(_ system: System) -> Found? {
    let read = { (path: String) -> Found? in
      let words = split(system.text(path) ?? "")
      return words.isEmpty ? nil : (words, Place(path, line: 1))
    }
    return read("/proc/cmdline") ?? PiBoot(system: system).commandLine.flatMap(read)
      ?? ["/boot/firmware/cmdline.txt", "/boot/cmdline.txt", "/etc/kernel/cmdline", "/usr/lib/kernel/cmdline"].lazy
      .compactMap(read).first
  }

  /// The menu's entry that starts by itself, unless somebody chose another.
  private static func menu(_ system: System) -> Found? {
    let grub = grub(system)
    let menus = [{ entries(system, grub) }, { grub.menu }, { extlinux(system) }]
    return menus.lazy.compactMap { $0().start }.first.map { ($0.words, $0.place) }
  }

  private static func grub(_ system: System) -> GrubMenu {
    let folders = ["/boot/grub", "/boot/grub2"]
    let read = { (name: String) -> (text: String, path: String)? in
      folders.lazy.map { "\($0)/\(name)" }
        .compactMap { path in (try? system.read(path, cap: 8 << 20)).map { ($0.text, path) } }.first
    }
    let file = read("grub.cfg")
    return GrubMenu(file?.text ?? "", path: file?.path ?? "", environment: read("grubenv")?.text ?? "")
  }

  private static func entries(_ system: System, _ grub: GrubMenu) -> BootMenu {
    for partition in ["/boot", "/efi", "/boot/efi"] {
      var menu = BootMenu(loaderEntries: "\(partition)/loader/entries", system, grub)
      guard !menu.entries.isEmpty else { continue }
      if let chosen = grub.menu.chosen ?? grub.variables["saved_entry"] {
        menu.chosen = chosen
      } else if let pattern = pattern("\(partition)/loader/loader.conf", system) {
        menu.choose(pattern: pattern)
      }
      return menu
    }
    return BootMenu()
  }

  private static func pattern(_ path: String, _ system: System) -> String? {
    SystemdBoot.settings("default", system.text(path) ?? "").last?.value
  }

  private static func extlinux(_ system: System) -> BootMenu {
    for path in ["/boot/extlinux/extlinux.conf", "/boot/extlinux.conf"] {
      if let text = system.text(path) { return BootMenu(extlinux: text, path: path) }
    }
    return BootMenu()
  }

  /// Variables of U-Boot's scripts that become part of the line: Armbian's, and those of BeagleBoard's images.
  private static func variables(_ system: System) -> Found? {
    let keys: Set = ["extraargs", "cmdline", "optargs"]
    for path in ["/boot/armbianEnv.txt", "/boot/uEnv.txt", "/uEnv.txt"] {
      let lines = LogicalLines(system.text(path) ?? "", comments: ["#"]).filter { line in
        keys.contains(String(line.text.prefix { $0 != "=" }))
      }
      let words = lines.flatMap { $0.text.drop { $0 != "=" }.dropFirst().words() }.map(String.init)
      if let first = lines.first, !words.isEmpty { return (words, Place(path, line: first.number)) }
    }
    return nil
  }

  /// What the next grub.cfg will be made of.
  private static func settings(_ system: System) -> Found? {
    let path = "/etc/default/grub"
    let settings = VariableFile.settings(in: path, system).filter { $0.name.hasPrefix("GRUB_CMDLINE_LINUX") }
    guard let first = settings.first else { return nil }
    // The shell has taken its own quotes off.
    return (settings.flatMap { Self.split($0.words.first ?? "") }, first.place)
  }

  /// What the file of the machine's maker adds to the line that Flatcar's image brings.
  private static func addition(_ system: System) -> Found? {
    for path in ["/oem/grub.cfg", "/usr/share/oem/grub.cfg"] {
      let label = "linux_append="
      for line in LogicalLines(system.text(path) ?? "", comments: ["#"]).reversed() {
        let set = ShellWords.split(line.text)
        guard set.count > 1, set[0] == "set", set[1].hasPrefix(label) else { continue }
        let words = set[1].dropFirst(label.utf8.count).words().map(String.init)
        if !words.isEmpty { return (words, Place(path, line: line.number)) }
      }
    }
    return nil
  }

  // MARK: Words

  /// As systemd takes the line apart: what is quoted is one word, and a backslash means nothing.
  static func split(_ text: String) -> [String] { UnitWords.split(text, resolvesEscapes: false) }

  /// The value of the last word `name=value`; "" for the bare name.
  func value(_ name: String) -> String? { words.last { Self.key($0) == name }.map(Self.value(of:)) }

  /// Every value of `name=value`.
  func values(_ name: String) -> [String] {
    words.filter { $0.contains("=") && Self.key($0) == name }.map(Self.value(of:))
  }

  /// Before the sign "-" and "_" are the same.
  private static func key(_ word: String) -> String {
    String(word.prefix { $0 != "=" }).substituting("-", with: "_")
  }

  private static func value(of word: String) -> String { String(word.drop { $0 != "=" }.dropFirst()) }

  /// `systemd.set_credential=NAME:VALUE`, or the same in Base64.
  func credential(_ name: String) -> String? {
    last("systemd.set_credential", after: "\(name):")
      ?? last("systemd.set_credential_binary", after: "\(name):").flatMap { Base64.decode($0.utf8) }
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// Names of the credentials that are set.
  var credentialNames: [String] {
    (values("systemd.set_credential") + values("systemd.set_credential_binary")).map { String($0.prefix { $0 != ":" }) }
  }

  /// `systemd.setenv=NAME=VALUE`: a variable of every service.
  func environment(_ name: String) -> String? { last("systemd.setenv", after: "\(name)=") }

  private func last(_ name: String, after label: String) -> String? {
    values(name).last { $0.hasPrefix(label) }.map { String($0.dropFirst(label.utf8.count)) }
  }
}
