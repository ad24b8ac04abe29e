/// Which directories to watch, and for which names in them: what an examination asked for, turned into places where a
/// change shows.
struct WatchPlan: Hashable, Sendable {
  enum Interest: Hashable, Sendable {
    case names(Set<String>)
    /// It was listed, so every name counts.
    case all

    func includes(_ name: String) -> Bool {
      switch self {
      case .names(let names): names.contains(name)
      case .all: true
      }
    }

    func union(_ other: Interest) -> Interest {
      if case .names(let mine) = self, case .names(let theirs) = other { return .names(mine.union(theirs)) }
      return .all
    }
  }

  /// What is at a path, for whoever follows it.
  enum Node: Hashable, Sendable {
    case directory
    /// The target as it is written.
    case link(String)
    case other
    case missing
  }

  /// By directory, absolute.
  private(set) var interests: [String: Interest] = [:]

  /// The kernel tells of no change in these.
  private static let silent = ["proc", "sys"]
  private static let mostLinks = 40

  /// - Parameter node: what is at an absolute path, without following it.
  init(visited: some Sequence<String>, listed: Set<String>, node: (String) -> Node) {
    var known: [String: Node] = [:]
    let look = { (path: String) -> Node in
      if let node = known[path] { return node }
      let found = node(path)
      known[path] = found
      return found
    }
    for path in visited { add(path, isListed: listed.contains(path), look) }
  }

  /// Watches each name on the way that could lead elsewhere tomorrow: the last one, each link, the first that is missing.
  private mutating func add(_ path: String, isListed: Bool, _ look: (String) -> Node) {
    var folder = ""
    var rest = Self.components(path)[...]
    var links = 0
    while let name = rest.popFirst() {
      guard !(folder.isEmpty && Self.silent.contains(name)) else { return }
      if name == ".." {
        folder = String(folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)])
        continue
      }
      let here = "\(folder)/\(name)"
      switch look(here) {
      case .missing: return watch(folder, name)
      case .link(let target):
        watch(folder, name)
        links += 1
        guard links <= Self.mostLinks else { return }
        if target.hasPrefix("/") { folder = "" }
        rest = (Self.components(target) + rest)[...]
        continue
      case .directory, .other:
        if rest.isEmpty { watch(folder, name) }
      }
      folder = here
    }
    if isListed { interests[folder.isEmpty ? "/" : folder] = .all }
  }

  private mutating func watch(_ folder: String, _ name: String) {
    let folder = folder.isEmpty ? "/" : folder
    let interest = Interest.names([name])
    interests[folder] = interests[folder]?.union(interest) ?? interest
  }

  private static func components(_ path: String) -> [String] {
    path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.filter { $0 != "." }
  }
}
