import Posture

extension PAM {
  /// One handler of a stack, in the order in which libpam would call it.
  struct Entry: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
      case module
      /// A line that libpam could not make sense of: always fails.
      case mustFail
      /// Stands for a substack as a whole; its entries follow, one level deeper.
      case substack
    }

    var kind: Kind
    /// Depth of substacks.
    var level: Int
    var control: Control
    /// As written; empty for lines without one.
    var module: String { didSet { name = ModuleModels.name(of: module) } }
    /// `unix` of `/lib/security/pam_unix.so`.
    private(set) var name = ""
    var arguments: [String]
    var place: Place
  }

  /// The four stacks of one service, as one file and what it includes give them.
  struct Stacks: Sendable {
    private var entries: [Group: [Entry]] = [:]
    /// Why they cannot be known: an unreadable file, a loop, a flood.
    var doubt: Cause?

    subscript(group: Group) -> [Entry] { entries[group] ?? [] }

    var count: Int { entries.values.reduce(0) { $0 + $1.count } }

    mutating func add(_ entry: Entry, to group: Group) { entries[group, default: []].append(entry) }
  }

  /// A service's own stacks, and those of `other` that stand in group by group.
  struct ServiceStacks: Sendable {
    var own = Stacks()
    var other = Stacks()

    /// Those of `other` where the service has no line of that group.
    subscript(group: Group) -> [Entry] { isBorrowed(group) ? other[group] : own[group] }

    func isBorrowed(_ group: Group) -> Bool { own[group].isEmpty }
  }

  /// How this system's libpam reads its files.
  struct Dialect: Sendable {
    var lines: LineRules
    /// Debian's patch: `@include FILE` takes all four groups of FILE.
    var hasAtInclude: Bool
    /// Plain includes are counted against the limit too (1.5.3 and later), not substacks alone.
    var limitsIncludes: Bool
  }
}
