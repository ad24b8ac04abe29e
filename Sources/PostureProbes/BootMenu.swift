import Posture

/// The entries of a boot loader's menu that load a kernel, and which of them starts by itself.
struct BootMenu: Sendable {
  struct Entry: Sendable {
    /// What it is called at each level of the menu, the outermost first: its number, its title, its identifier.
    var names: [Set<String>]
    /// What its kernel is given.
    var words: [String]
    var place: Place
  }

  var entries: [Entry] = []
  /// As the loader's files name it: `1`, `b`, `Advanced options>2`.
  var chosen: String?

  /// The chosen one; the first where none is chosen, or one that is not there.
  var start: Entry? {
    let path = (chosen ?? "").split(separator: ">").map(String.init)
    guard !path.isEmpty else { return entries.first }
    let named = entries.first { entry in
      path.count <= entry.names.count && zip(path, entry.names).allSatisfy { $1.contains($0) }
    }
    return named ?? entries.first
  }
}

// MARK: GRUB

/// GRUB's grub.cfg and its environment block.
struct GrubMenu {
  /// grubenv, and what the configuration sets where that says nothing.
  private(set) var variables: [String: String]
  private(set) var menu = BootMenu()

  private struct Block {
    /// nil for one that is no entry: a function.
    var names: Set<String>?
    /// How many entries it holds.
    var count = 0
  }

  private var blocks = [Block()]

  private static let mostEntries = 1_024
  private static let mostWords = 512

  init(_ text: String, path: String, environment: String) {
    variables = Self.environment(environment)
    for line in LogicalLines(text, comments: ["#"]) {
      read(ShellWords.split(line.text), Place(path, line: line.number))
    }
  }

  /// `NAME=value` lines of an environment block, which "#" fills up.
  private static func environment(_ text: String) -> [String: String] {
    var variables: [String: String] = [:]
    for line in text.lines(most: 1_024) where !line.hasPrefix("#") { UnitWords.assign(line.trimmed, in: &variables) }
    return variables
  }

  private mutating func read(_ words: [String], _ place: Place) {
    guard let first = words.first else { return }
    switch first {
    case "}": if blocks.count > 1 { blocks.removeLast() }
    case "set": if words.count > 1 { assign(words[1]) }
    case "linux", "linux16", "linuxefi":
      guard menu.entries.count < Self.mostEntries else { return }
      menu.entries.append(
        BootMenu.Entry(names: blocks.compactMap(\.names), words: expand(words.dropFirst()), place: place))
    default: if words.last == "{", blocks.count < 64 { blocks.append(Block(names: names(words))) }
    }
  }

  /// The number, the title and the identifier of an entry that begins here.
  private mutating func names(_ words: [String]) -> Set<String>? {
    guard words.count > 2, words[0] == "menuentry" || words[0] == "submenu" else { return nil }
    defer { blocks[blocks.count - 1].count += 1 }
    let option = words.firstIndex { $0 == "--id" || $0 == "$menuentry_id_option" || $0 == "${menuentry_id_option}" }
    let identifier =
      option.map { words[$0 + 1] } ?? words.first { $0.hasPrefix("--id=") }.map { String($0.dropFirst(5)) }
    return Set([String(blocks[blocks.count - 1].count), words[1], identifier].compactMap { $0 })
  }

  private mutating func assign(_ word: String) {
    let value = String(word.drop { $0 != "=" }.dropFirst())
    if word.hasPrefix("default=") {
      // What is chosen for the next start only is not the default.
      if !value.contains("next_entry") { menu.chosen = expand([value]).joined(separator: " ") }
    } else if let name = word.split(separator: "=").first.map(String.init), variables[name] == nil {
      variables[name] = value
    }
  }

  /// Puts a variable's words in where one stands alone.
  func expand(_ words: some Sequence<String>) -> [String] {
    var result: [String] = []
    for word in words where result.count < Self.mostWords {
      guard word.hasPrefix("$") else {
        result.append(word)
        continue
      }
      let value = variables[word.filter { !"${}".contains($0) }] ?? ""
      result += value.words(most: Self.mostWords).map(String.init)
    }
    return result
  }
}

// MARK: Boot Loader Specification

extension BootMenu {
  /// The entries of a folder as GRUB and systemd-boot order them: the newest first, those for rescue last.
  init(loaderEntries folder: String, _ system: System, _ grub: GrubMenu) {
    let names = ((try? system.list(folder)) ?? []).filter { $0.ends(with: ".conf") }
      .sorted { InitrdFinder.isOlder($1, $0) }
    let isRescue = { (name: String) in name.contains("rescue") }
    for name in (names.filter { !isRescue($0) } + names.filter(isRescue)).prefix(16) {
      let lines = LogicalLines(system.text("\(folder)/\(name)") ?? "", comments: ["#"]).map { line in
        (words: line.text.words().map(String.init), text: line.text, number: line.number)
      }
      let options = lines.filter { $0.words.first == "options" }
      guard let first = options.first else { continue }
      let title = lines.first { $0.words.first == "title" }.map { $0.words.dropFirst().joined(separator: " ") }
      entries.append(
        Entry(
          names: [[String(entries.count), String(name.dropLast(5)), name, title ?? name]],
          words: grub.expand(options.flatMap { BootWords.split($0.text).dropFirst() }),
          place: Place("\(folder)/\(name)", line: first.number)))
    }
  }

  /// Chooses the entry that a pattern of loader.conf(5) names.
  mutating func choose(pattern: String) {
    let pattern = ShellPattern(pattern)
    let entry = entries.first { $0.names[0].contains(where: pattern.matches) }
    chosen = entry?.names[0].first
  }
}

// MARK: extlinux

extension BootMenu {
  /// A menu of Syslinux's kind. An entry without options of its own takes those that stand before all entries.
  init(extlinux text: String, path: String) {
    var common: [String] = []
    var marked: String?
    for line in LogicalLines(text, comments: ["#"]) {
      let words = line.text.words().map(String.init)
      let place = Place(path, line: line.number)
      switch (words.first?.lowercased(), words.dropFirst().first) {
      case ("default", let label?): chosen = label
      case ("label", let label?): entries.append(Entry(names: [[label]], words: common, place: place))
      case ("append", _):
        let options = words.dropFirst() == ["-"] ? [] : Array(BootWords.split(line.text).dropFirst())
        guard let last = entries.indices.last else {
          common = options
          continue
        }
        entries[last].words = options
        entries[last].place = place
      case ("menu", let word?) where word.lowercased() == "default": marked = entries.last?.names[0].first
      default: break
      }
    }
    if let marked, !entries.contains(where: { $0.names[0].contains(chosen ?? "") }) { chosen = marked }
  }
}
