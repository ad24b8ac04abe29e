import Posture

extension PAM {
  /// Reads a service's file and everything it includes into stacks, as `_pam_parse_conf_file` does.
  struct StackBuilder {
    /// What a name comes to: the file's bytes and its path; `.failure(.missing)` where there is none.
    typealias Source = (_ name: String, _ isInclude: Bool) -> Result<(path: String, bytes: [UInt8]), FileError>

    struct FileError: Error {
      var path: String
      var reason: System.Unreadable
    }

    /// libpam gives up on a file. In the service's own file that makes pam_start or the first call fail, whatever the
    /// modules would say; in an included one it leaves an entry that always fails.
    struct Abort: Error {
      var place: Place
      /// The process does not survive it, however deep it stands.
      var isFatal = false
    }

    /// PAM_SUBSTACK_MAX_LEVEL.
    static let maximalDepth = 16
    /// Far more than any real stack has; keeps a tree of includes from growing without bound.
    static let maximalEntries = 4096

    private let dialect: Dialect
    private let source: Source
    private(set) var stacks = Stacks()
    private var chain: [String] = []
    private var visits = 0

    init(_ dialect: Dialect, _ source: @escaping Source) {
      self.dialect = dialect
      self.source = source
    }

    private struct Position {
      /// nil: every group.
      var group: Group?
      var includes = 0
      var level = 0
    }

    /// False where no such file exists.
    mutating func read(service: String) throws(Abort) -> Bool {
      try load(service, Position(), from: nil)
    }

    /// The lines of one service in pam.conf.
    mutating func read(lines: [LogicalLine], path: String, isBroken: Bool) throws(Abort) {
      for line in lines { try read(line, path, Position()) }
      if isBroken { throw Abort(place: Place(path)) }
    }

    /// False where libpam goes on with an entry that always fails.
    private mutating func load(_ name: String, _ position: Position, from place: Place?) throws(Abort) -> Bool {
      let depth = dialect.limitsIncludes ? position.includes : position.level
      guard depth < Self.maximalDepth, !name.isEmpty else { return false }
      visits += 1
      guard stacks.count < Self.maximalEntries, visits < Self.maximalEntries else {
        doubt("pamTooLarge", "more than \(Self.maximalEntries) entries", place ?? Place(name))
        return true
      }
      switch source(name, place != nil) {
      case .failure(let error) where error.reason == .missing: return false
      case .failure(let error):
        doubt("unreadable", "\(error.path) \(error.reason.words)", Place(error.path))
        return true
      case .success(let file):
        guard !chain.contains(file.path) else {
          doubt("pamLoop", "\(file.path) includes itself", place ?? Place(file.path))
          return true
        }
        return try read(file.bytes, file.path, position)
      }
    }

    private mutating func doubt(_ code: String, _ observed: String, _ place: Place) {
      stacks.doubt = stacks.doubt ?? Cause(code, observed: observed, evidence: [place])
    }

    private mutating func read(_ bytes: [UInt8], _ path: String, _ position: Position) throws(Abort) -> Bool {
      guard !bytes.contains(0) else {
        doubt("unreadable", "\(path) is no text", Place(path))
        return true
      }
      chain.append(path)
      defer { chain.removeLast() }
      let file = Lines(bytes, dialect.lines)
      for line in file.lines where stacks.doubt == nil { try read(line, path, position) }
      if file.isBroken { throw Abort(place: Place(path)) }
      return true
    }

    private mutating func read(_ line: LogicalLine, _ path: String, _ position: Position) throws(Abort) {
      let place = Place(path, line: line.number)
      var words = Words(line.text)
      let type = words.next()
      if dialect.hasAtInclude, let type, ASCII.lowercased(type) == "@include" {
        return try includeAll(words.next(), position, place)
      }
      var entry = Entry(
        kind: .module, level: position.level, control: .allBad, module: "", arguments: [], place: place)
      let group: Group
      if let named = type.flatMap(Self.group(named:)) {
        group = named
      } else {
        group = position.group ?? .auth
        entry.kind = .mustFail
      }
      guard position.group == nil || group == position.group else { return }
      try read(&entry, group, &words, position)
    }

    private static func group(named word: [UInt8]) -> Group? {
      Group(rawValue: ASCII.lowercased(word.first == UInt8(ascii: "-") ? word.dropFirst() : word[...]))
    }

    private mutating func read(
      _ entry: inout Entry, _ group: Group, _ words: inout Words, _ position: Position
    ) throws(Abort) {
      let control = words.next()
      let module = words.next()
      let keyword = control.map(ASCII.lowercased(_:))
      if keyword == "include" || keyword == "substack" {
        if try include(module, entry, group, position, isSubstack: keyword == "substack") { return }
        entry.kind = .mustFail
        entry.module = ""
      } else {
        entry.control = control.map { Control($0, wrapsJumps: dialect.lines == .before16) } ?? .allBad
        entry.module = module.map(Self.text) ?? ""
        if control == nil || module == nil { entry.kind = .mustFail }
        entry.arguments = words.rest().map(Self.text)
      }
      // libpam finds fault with a name only after the entry is in its list.
      stacks.add(entry, to: group)
      if keyword != "include", keyword != "substack" { try checkName(module, entry.place) }
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private mutating func include(
      _ name: [UInt8]?, _ entry: Entry, _ group: Group, _ position: Position, isSubstack: Bool
    ) throws(Abort) -> Bool {
      if isSubstack {
        var whole = entry
        whole.kind = .substack
        whole.module = name.map(Self.text) ?? ""
        stacks.add(whole, to: group)
        try checkName(name, entry.place)
      }
      guard let name else {
        // Debian's libpam does not survive an include without a name; nobody gets in either way.
        if dialect.hasAtInclude, dialect.lines == .before16 { throw Abort(place: entry.place, isFatal: true) }
        return false
      }
      let inner = Position(
        group: group, includes: position.includes + 1, level: position.level + (isSubstack ? 1 : 0))
      do throws(Abort) { return try load(Self.text(name), inner, from: entry.place) } catch {
        if error.isFatal { throw error }
        return false
      }
    }

    /// Debian: a missing or broken target makes the whole configuration fail. Below a plain include it leaves an entry
    /// whose control is whatever the line before had.
    private mutating func includeAll(_ name: [UInt8]?, _ position: Position, _ place: Place) throws(Abort) {
      guard let name else { throw Abort(place: place, isFatal: true) }
      let inner = Position(group: position.group, includes: position.includes + 1, level: position.level)
      var isLoaded = false
      do throws(Abort) { isLoaded = try load(Self.text(name), inner, from: place) } catch {
        if error.isFatal { throw error }
      }
      guard !isLoaded else { return }
      if position.group == nil { throw Abort(place: place) }
      doubt("pamUndecided", "@include \(Self.text(name)) fails inside an include", place)
    }

    /// A name that is empty once the folder and the suffix are taken off, or "?", is an error of the configuration.
    private func checkName(_ name: [UInt8]?, _ place: Place) throws(Abort) {
      guard let name else { return }
      let base = name.lastIndex(of: UInt8(ascii: "/")).map { name[(name.index(after: $0))...] } ?? name[...]
      let stem = base.lastIndex(of: UInt8(ascii: ".")).map { base[..<$0] } ?? base
      if stem.isEmpty || stem.elementsEqual("?".utf8) { throw Abort(place: place) }
    }
  }
}

extension PAM.ServiceStacks {
  /// Reads the files of a service and of `other`, as `_pam_init_handlers` does.
  init(_ name: String, _ dialect: PAM.Dialect, _ source: @escaping PAM.StackBuilder.Source)
    throws(PAM.StackBuilder.Abort)
  {
    var other = PAM.StackBuilder(dialect, source)
    var hasOwn = false
    if name != "other" {
      var own = PAM.StackBuilder(dialect, source)
      hasOwn = try own.read(service: name)
      self.own = own.stacks
    }
    let hasOther = try other.read(service: "other")
    self.other = other.stacks
    guard hasOwn || hasOther else { throw PAM.StackBuilder.Abort(place: Place("/etc/pam.d/\(name)")) }
  }
}
