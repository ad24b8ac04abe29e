import Posture
import PosturePlatform
import Synchronization

/// The system units of an examined system: every directory in its precedence, links, masks, drop-ins.
final class Units: Sendable {
  /// The directories that systemd searches, strongest first (systemd.unit(5), "Unit File Load Path").
  static let searchPath = [
    "/etc/systemd/system.control", "/run/systemd/system.control", "/run/systemd/transient",
    "/run/systemd/generator.early", "/etc/systemd/system", "/etc/systemd/system.attached", "/run/systemd/system",
    "/run/systemd/system.attached", "/run/systemd/generator", "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system", "/lib/systemd/system", "/run/systemd/generator.late",
  ]

  /// One directory of the search path that is there, with the names in it.
  struct Folder: Sendable {
    let path: String
    let names: Set<String>
  }

  let folders: [Folder]
  private let system: System
  /// Names that the kernel's command line masks.
  private let masked: Set<String>
  /// Where each name's strongest file is.
  private let paths: [String: String]
  /// Links from one unit name to another, the strongest of each name.
  private let links: [String: String]
  /// The names that lead to each unit.
  private let aliases: [String: [String]]
  /// Units that those with directories of links of their own hold: `multi-user.target`.
  private let wanted: [String: [String]]
  /// Every name that is linked anywhere, in a directory of links of another.
  let enabledNames: [String]
  /// Instances without a file of their own, by the link that enables them: where that leads to another template's.
  private let strangers: [String: String]
  /// Names that have a file, a link or a drop-in directory, by prefix and type of an instance.
  private let instanceNames: [String: [String]]
  private let memory = Mutex<[String: Unit?]>([:])

  init(_ system: System, masked: Set<String> = []) {
    self.system = system
    self.masked = masked
    folders = Self.folders(of: system)
    var paths: [String: String] = [:]
    for folder in folders.reversed() {
      for name in folder.names { paths[name] = "\(folder.path)/\(name)" }
    }
    self.paths = paths
    links = Self.links(folders, system)
    aliases = Dictionary(grouping: links.keys) { [links, paths] name in Self.follow(name, links, paths) }
    let wanting = Self.wanting(folders).map { [folders] in ($0, Self.wanted(by: $0, folders, system)) }
    wanted = Dictionary(uniqueKeysWithValues: wanting.map { ($0, $1.keys.sorted()) })
    enabledNames = wanting.flatMap(\.1.keys)
    let targets: [String: String] = wanting.reduce(into: [:]) { all, one in all.merge(one.1) { first, _ in first } }
    strangers = Self.strangers(targets, links, paths)
    instanceNames = Self.instances(Self.names(folders) + enabledNames)
  }

  private static func links(_ folders: [Folder], _ system: System) -> [String: String] {
    var links: [String: String] = [:]
    var seen: Set<String> = []
    for folder in folders {
      let own = system.links(in: folder.path) { name in linked.contains(where: name.ends) && !seen.contains(name) }
      for (name, target) in own {
        let other = Path.name(of: target)
        if other != name { links[name] = other }
      }
      seen.formUnion(folder.names)
    }
    return links
  }

  /// Names in the directories, and those that drop-in directories are for.
  private static func names(_ folders: [Folder]) -> [String] {
    folders.flatMap(\.names).map { $0.ends(with: ".d") ? String($0.dropLast(2)) : $0 }
  }

  private static func instances(_ names: [String]) -> [String: [String]] {
    let instances = Set(names.filter { $0.utf8.contains(UInt8(ascii: "@")) }).compactMap(UnitName.init)
      .filter { $0.instance?.isEmpty == false }
    return Dictionary(grouping: instances) { "\($0.prefix).\($0.type)" }
      .mapValues { $0.map(\.text).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
  }

  /// The types of units that matter for a door.
  private static let linked = [".service", ".target", ".socket"]

  private static func folders(of system: System) -> [Folder] {
    var seen = Set<[UInt64]>()
    return searchPath.compactMap { path in
      // /lib is a link to /usr/lib on most systems: one directory is read once.
      guard let status = try? system.status(path), seen.insert([status.device, status.inode]).inserted,
        let names = try? system.list(path)
      else { return nil }
      return Folder(path: path, names: Set(names))
    }
  }

  /// Whether this system has units at all.
  var isEmpty: Bool { folders.allSatisfy(\.names.isEmpty) }

  // MARK: Names

  /// The name that `name` stands for, after all alias links: `sshd.service` is `ssh.service`.
  func canonical(_ name: String) -> String { Self.follow(name, links, paths) }

  /// Longer chains than these are no configuration.
  private static let maximalLinks = 16

  private static func follow(
    _ name: String, _ links: [String: String], _ paths: [String: String]
  ) -> String {
    var name = name
    for _ in 0..<maximalLinks {
      guard let next = next(after: name, links, paths) else { break }
      name = next
    }
    return name
  }

  /// One link on; an instance follows its template's. A link to another type, to /dev/null say, is no alias.
  private static func next(
    after name: String, _ links: [String: String], _ paths: [String: String]
  ) -> String? {
    guard let target = links[name] ?? templateTarget(of: name, links, paths), let parts = UnitName(name),
      let other = UnitName(target), other.type == parts.type
    else { return nil }
    return parts.instance(of: other)
  }

  private static func templateTarget(
    of name: String, _ links: [String: String], _ paths: [String: String]
  ) -> String? {
    guard name.utf8.contains(UInt8(ascii: "@")), paths[name] == nil else { return nil }
    return UnitName(name)?.template.flatMap { links[$0] }
  }

  /// Every name that leads to the same unit, itself first.
  func names(of name: String) -> [String] {
    let main = canonical(name)
    var others = aliases[main] ?? []
    // Those of a template lead to its instances that have no file of their own.
    if paths[main] == nil || links[main] != nil, let parts = UnitName(main), let template = parts.template {
      others += (aliases[template] ?? []).compactMap(UnitName.init).map(parts.instance)
    }
    return [main] + others.filter { $0 != main }.sorted()
  }

  // MARK: Units

  /// The merged unit of this name; nil where neither a file nor a drop-in of it is there.
  func unit(_ name: String) -> Unit? {
    if let known = memory.withLock({ $0[name] }) { return known }
    let unit = load(name)
    memory.withLock { $0[name] = .some(unit) }
    return unit
  }

  func isMasked(_ name: String) -> Bool { unit(name)?.isMasked ?? false }

  /// Whether nothing keeps the unit from starting: a mask, or a condition that files tell not to hold.
  func canStart(_ name: String) -> Bool {
    unit(name).map { !$0.isMasked && UnitConditions($0).areMet(system) } ?? true
  }

  /// Names with this prefix and type that have a file, a link or a drop-in directory: `getty@tty1.service`.
  func instances(of prefix: String, type: String = "service") -> [String] {
    instanceNames["\(prefix).\(type)"] ?? []
  }

  /// Services with a file or a drop-in outside the vendor's directories.
  var ownServices: [String] {
    let own = folders.filter { !$0.path.hasPrefix("/usr/lib") && !$0.path.hasPrefix("/lib") }
    let names = own.flatMap(\.names).map { $0.ends(with: ".d") ? String($0.dropLast(2)) : $0 }
    return Set(names.filter { $0.ends(with: ".service") && !$0.ends(with: "@.service") }.map(canonical)).sorted()
  }

  /// The place of a unit's file on the search path.
  func path(of name: String) -> String? { paths[name] }

  private func load(_ asked: String) -> Unit? {
    let name = canonical(asked)
    guard let parts = UnitName(name) else { return nil }
    // A link may lead out of the search path: then its own place is the file's.
    let linked = strangers[name].flatMap { followsLinks == true ? path(of: $0) : nil }
    let fragment = path(of: name) ?? linked ?? parts.template.flatMap(path) ?? path(of: asked)
    let dropIns = dropInPaths(parts)
    guard fragment != nil || !dropIns.isEmpty else { return nil }
    let isMasked =
      [asked, name, parts.template ?? name].contains(where: masked.contains) || fragment.map(isNothing) ?? false
    let settings = ([fragment].compactMap { $0 } + dropIns).flatMap { path in
      UnitFile.parse(system.text(path) ?? "", path: path)
    }
    return Unit(name: parts, fragment: fragment, isMasked: isMasked, settings: settings)
  }

  /// A link to /dev/null, or an empty file.
  private func isNothing(_ path: String) -> Bool {
    if let file = try? system.read(path) { return file.bytes.isEmpty }
    return system.link(path) == "/dev/null" || (try? system.status(path))?.kind == .character
  }

  /// Drop-ins that apply, by base name; of two of one name the stronger directory's counts.
  private func dropInPaths(_ name: UnitName) -> [String] {
    let specific = names(of: name.text).compactMap(UnitName.init).flatMap { alias in
      [alias.text] + alias.shortened + [alias.template].compactMap { $0 }
    }
    let levels = [specific.map { "\($0).d" }, ["\(name.type).d"]]
    var byName: [String: String] = [:]
    for level in levels {
      for folder in folders {
        for directory in level where folder.names.contains(directory) {
          let path = "\(folder.path)/\(directory)"
          let files = ((try? system.list(path)) ?? []).filter(UnitFile.isDropIn)
          for file in files where byName[file] == nil { byName[file] = "\(path)/\(file)" }
        }
      }
    }
    return byName.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map(\.value).filter { !isNothing($0) }
  }

  // MARK: Links that enable

  /// Units that `name.wants`, `.requires` or `.upholds` hold. A link to /dev/null hides one of a weaker directory.
  func wanted(by name: String) -> [String] { wanted[name] ?? [] }

  /// Each with what its link says, nothing for a file.
  private static func wanted(by name: String, _ folders: [Folder], _ system: System) -> [String: String] {
    var wanted: [String: String] = [:]
    for kind in ["wants", "requires", "upholds"] {
      var found: [String: String] = [:]
      for folder in folders where folder.names.contains("\(name).\(kind)") {
        let directory = "\(folder.path)/\(name).\(kind)"
        let targets = system.links(in: directory) { _ in true }
        for unit in (try? system.list(directory)) ?? [] where found[unit] == nil {
          found[unit] = targets[unit] ?? ""
        }
      }
      wanted.merge(found.filter { $0.value != "/dev/null" }) { first, _ in first }
    }
    return wanted
  }

  private static func strangers(
    _ targets: [String: String], _ links: [String: String], _ paths: [String: String]
  ) -> [String: String] {
    targets.filter { name, target in
      guard !target.isEmpty, paths[name] == nil, let parts = UnitName(name), let template = parts.template,
        let other = UnitName(Path.name(of: target)), other.isTemplate, other.type == parts.type
      else { return false }
      return follow(other.text, links, paths) != follow(template, links, paths)
    }.mapValues { Path.name(of: $0) }
  }

  /// The template that an instance has if the link that enables it decides, and its name does if not; nil where both are
  /// one, or where it is known which of the two counts.
  func otherTemplate(of name: String) -> String? { followsLinks == nil ? strangers[name] : nil }

  /// Up to 239, systemd loads a unit from where the link that enables it leads; later ones go by its name.
  private var followsLinks: Bool? {
    let distribution = Distribution.of(system)
    guard let release = distribution.release.flatMap({ Int($0) }) else { return nil }
    switch distribution.id {
    case "debian", "raspbian": return release < 10
    case "ubuntu": return release < 17 ? true : release < 19 ? nil : false
    default: return nil
    }
  }

  private static func wanting(_ folders: [Folder]) -> Set<String> {
    Set(
      folders.flatMap(\.names).compactMap { name in
        for suffix in [".wants", ".requires", ".upholds"] where name.ends(with: suffix) {
          return String(name.dropLast(suffix.count))
        }
        return nil
      })
  }
}
