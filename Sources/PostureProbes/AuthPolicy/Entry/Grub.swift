import Posture

/// GRUB 2's users, as its configuration sets them (GRUB manual, "Authentication and authorisation").
struct GrubUsers: Sendable {
  /// The last assignment of `superusers`; nil where there is none: then everything is free.
  private(set) var superusers: [String]?
  /// Names with a password.
  private(set) var withPassword = Set<String>()
  /// Where each decisive line is.
  private(set) var place: Place?
  /// Submenus start with a fresh environment, and know only of superusers that are exported.
  private(set) var isExported = false
  /// A submenu that everybody may choose.
  private(set) var freeSubmenu: Place?
  /// An entry that everybody may choose, and that starts a shell in place of init.
  private(set) var freeShell: Place?
  /// Whether everybody may choose what is open here, outermost first: submenus, entries; functions are neither.
  private var blocks: [Bool] = []

  /// Reads `text`; `sources` are files that a `source` line brings in.
  init(_ text: String, path: String, source: (String) -> (text: String, path: String)?) {
    read(text, path, source, depth: 0)
  }

  private mutating func read(
    _ text: String, _ path: String, _ source: (String) -> (text: String, path: String)?, depth: Int
  ) {
    guard depth < 8 else { return }
    var conditions: [Bool] = []
    for line in LogicalLines(text, comments: ["#"]) {
      for words in Self.commands(ShellWords.split(line.text)) {
        if words[0] == "if" { conditions.append(isMet(words)) }
        if words[0] == "fi" { _ = conditions.popLast() }
        guard !conditions.contains(false) else { continue }
        command(words, Place(path, line: line.number), source, depth)
      }
    }
  }

  /// The words of a line, cut behind a brace that opens a block and around one that closes it.
  private static func commands(_ words: [String]) -> [[String]] {
    var commands: [[String]] = [[]]
    for word in words {
      if word == "}" { commands.append([]) }
      commands[commands.count - 1].append(word)
      if word == "{" || word == "}" { commands.append([]) }
    }
    return commands.filter { !$0.isEmpty }
  }

  /// Of all conditions only the one around a stored password matters: Fedora's file sets its user inside it.
  private func isMet(_ words: [String]) -> Bool {
    hasStoredPassword || !words.contains { $0.contains("GRUB2_PASSWORD") }
  }

  private mutating func command(
    _ words: [String], _ place: Place, _ source: (String) -> (text: String, path: String)?, _ depth: Int
  ) {
    if words.last == "{" { open(words, place) }
    switch words[0] {
    case "}": _ = blocks.popLast()
    case "export": isExported = isExported || words.contains("superusers")
    case "linux", "linux16", "linuxefi":
      if !blocks.isEmpty, !blocks.contains(false), words.contains(where: Self.startsShell) {
        freeShell = freeShell ?? place
      }
    case "set": assign(words.dropFirst().first ?? "", place)
    case "password", "password_pbkdf2":
      if words.count > 2, !words[2].hasPrefix("$") || hasStoredPassword { withPassword.insert(words[1]) }
    case "source", ".":
      guard words.count > 1, sources < 32, let file = source(words[1]) else { return }
      sources += 1
      read(file.text, file.path, source, depth: depth + 1)
    default: assign(words[0], place)
    }
  }

  private mutating func open(_ words: [String], _ place: Place) {
    let isMenu = words[0] == "submenu" || words[0] == "menuentry"
    let isFree = isMenu && words.contains("--unrestricted") && !blocks.contains(false)
    blocks.append(isFree)
    if isFree, words[0] == "submenu" { freeSubmenu = freeSubmenu ?? place }
  }

  private static func startsShell(_ word: String) -> Bool {
    word.hasPrefix("init=") && TerminalReader.shells.contains(Programs.base(String(word.dropFirst("init=".count))))
  }

  /// How many files have been brought in: files that bring in each other come to an end.
  private var sources = 0
  /// user.cfg has set GRUB2_PASSWORD.
  private var hasStoredPassword = false

  private mutating func assign(_ word: String, _ place: Place) {
    if word.hasPrefix("GRUB2_PASSWORD=") { hasStoredPassword = word.count > "GRUB2_PASSWORD=".count }
    guard word.hasPrefix("superusers=") else { return }
    superusers = word.dropFirst("superusers=".count).split { " ,;|&".contains($0) }.map(String.init)
    self.place = place
  }
}

/// `boot@grub`.
struct Grub {
  private let system: System

  init(_ system: System) { self.system = system }

  private var configurations: [String] {
    let vendors = ["/boot/efi/EFI", "/efi/EFI", "/boot/EFI"].flatMap { folder in
      ((try? system.list(folder)) ?? []).map { "\(folder)/\($0)/grub.cfg" }
    }
    return (["/boot/grub/grub.cfg", "/boot/grub2/grub.cfg"] + vendors).filter(system.exists)
  }

  /// The weakest of the configurations that are there; nil without GRUB.
  var door: Door? {
    let found = configurations.map(door)
    let full = found.compactMap { $0 }
    if let weakest = full.first(where: { $0.answer == .notRequired }) ?? full.first(where: { $0.answer == .unknown })
      ?? full.first
    {
      return weakest
    }
    // Its folder without a configuration: a core image may bring its own.
    guard let folder = ["/boot/grub", "/boot/grub2"].first(where: { hasModules($0) }) else { return nil }
    return BootDoors.unknown("grub", Place(folder), "\(folder) without grub.cfg")
  }

  private func hasModules(_ folder: String) -> Bool {
    ((try? system.list(folder)) ?? []).contains { $0.contains("-pc") || $0.contains("-efi") || $0 == "grubenv" }
  }

  private func door(_ path: String) -> Door? {
    let text: String
    do throws(System.Unreadable) { text = try system.read(path, cap: 8 << 20).text } catch {
      return BootDoors.unknown("grub", Place(path), "\(path) \(error.words)")
    }
    let folder = String(path.dropLast("/grub.cfg".count))
    let users = GrubUsers(text, path: path) { name in
      let base = Programs.base(name)
      guard base.ends(with: ".cfg"), !base.contains("$") else { return nil }
      return system.text("\(folder)/\(base)").map { ($0, "\(folder)/\(base)") }
    }
    // A stub on the EFI partition only leads to the real one.
    if users.superusers == nil, text.contains("configfile"), !text.contains("menuentry ") { return nil }
    return Self.door(users, Place(path))
  }

  static func door(_ users: GrubUsers, _ path: Place) -> Door {
    guard let superusers = users.superusers else {
      return BootDoors.open("grub", Reason("grub.noSuperusers", path), "\(path.file): no superusers")
    }
    if let submenu = users.freeSubmenu, !users.isExported {
      return BootDoors.open(
        "grub", Reason("grub.superusersNotExported", submenu),
        "\(path.file): superusers are not exported to a submenu that everybody may choose")
    }
    if let shell = users.freeShell {
      return BootDoors.open(
        "grub", Reason("grub.freeShell", shell), "\(path.file): an entry that everybody may choose starts a shell",
        code: "openBoot")
    }
    let canProve = superusers.contains(where: users.withPassword.contains)
    var door = Door(
      "boot@grub", .boot, "*", canProve ? .passcode : .never, because: [Reason("grub.superusers", users.place ?? path)])
    door.whose = canProve ? .own : nil
    door.oncePerBoot = true
    return door
  }
}
