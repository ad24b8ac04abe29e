import CLinux
import Glibc
public import PosturePlatform
import Synchronization

/// The system under examination: a root directory and what is below it.
///
/// Every path is absolute as the examined system sees it; symlinks, absolute ones too, stay below the root.
/// What has been read or looked at once is remembered, so that no file is opened twice in one examination, and all of it
/// sees one and the same system: where two threads look at once, what the first one saw holds for both.
public final class System: Sendable {
  /// "/" for this machine, else the root directory of the examined tree.
  public let root: String
  /// Seconds since the epoch that ages are reckoned from.
  public let now: Int64
  /// True where `root` is "/": running services, buses and tools of this machine may be asked.
  public let isLive: Bool

  private let directory: Int32
  /// Whose files stand for root's.
  private let unpacker: Unpacker?
  /// Do without openat2(2), which knows real links alone.
  private let walksByStep: Bool
  private let walk: PathWalk
  private let memory = Mutex(Memory())

  private struct Memory {
    var files: [String: Result<File, Unreadable>] = [:]
    var lists: [String: Result<[Directory.Entry], Unreadable>] = [:]
    var statuses: [String: Result<Status, Unreadable>] = [:]
    var links: [String: String?] = [:]
    /// Whether a folder is there, of those in which something was missing.
    var folders: [String: Bool] = [:]
    var entries: [String: Bool] = [:]
    var opens = 0
    /// Device and inode of each file that was read, and by which name.
    var read: [[UInt64]: String] = [:]
    var readAgain: [String] = []
    var visited = Set<String>()
    var listed = Set<String>()
    /// Each a ``Once`` of the type that is its key.
    var shared: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    /// How many calls of ``sharing(_:)`` are under way.
    var sharers = 0
  }

  /// Opens the root directory.
  public convenience init(root: String = "/", now: Int64 = Clock.wall) throws(SystemError) {
    try self.init(root: root, now: now, walksByStep: false)
  }

  init(root: String, now: Int64, walksByStep: Bool) throws(SystemError) {
    self.root = root
    self.now = now
    isLive = root == "/"
    let top = try Descriptor.open(root, Descriptor.pathOnly | O_DIRECTORY)
    unpacker = root == "/" ? nil : Unpacker(try top.status(root), process: geteuid())
    directory = top.release()
    walk = PathWalk(root: directory, hasCopies: root != "/" && CopiedLinks.areIn(directory), isWhole: root == "/")
    self.walksByStep = walksByStep || walk.knowsMore
  }

  deinit { close(directory) }

  /// How many files have been opened for reading.
  public var opens: Int { memory.withLock { $0.opens } }
  /// Paths of files that had been read before by another name.
  var readAgain: [String] { memory.withLock { $0.readAgain } }
  /// Every path that was asked for, there or not: what a watcher has to look at.
  public var visited: Set<String> { memory.withLock { $0.visited } }
  /// Those of them that were listed: there a name that appears or goes is a change as well.
  public var listed: Set<String> { memory.withLock { $0.listed } }

  /// One examination by several probes, which share what they need in common: it is forgotten when the outermost of these
  /// calls ends, for it may hold this system, which would hold it for ever.
  public func sharing<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    memory.withLock { $0.sharers += 1 }
    defer {
      // What goes with it may look at this system once more: not under the lock.
      let forgotten = memory.withLock { memory -> [ObjectIdentifier: any AnyObject & Sendable] in
        memory.sharers -= 1
        guard memory.sharers == 0 else { return [:] }
        defer { memory.shared = [:] }
        return memory.shared
      }
      withExtendedLifetime(forgotten) {}
    }
    return try body()
  }

  /// A value that several probes need and that costs something to make: once for each type in one examination.
  func shared<Value: Sendable>(_ make: () -> Value) -> Value {
    let once = memory.withLock { memory -> Once<Value>? in
      guard memory.sharers > 0 else { return nil }
      let key = ObjectIdentifier(Value.self)
      if let known = memory.shared[key] { return known as? Once<Value> }
      let once = Once<Value>()
      memory.shared[key] = once
      return once
    }
    return once?.value(make) ?? make()
  }

  // MARK: Files

  /// The content of a regular file, at most `cap` bytes. Never blocks on a FIFO or a device.
  public func read(_ path: String, cap: Int = 1 << 20) throws(Unreadable) -> File {
    try remembered(path) { () throws(Unreadable) in try load(path, cap: cap, owners: []) }
  }

  /// The same for a file that somebody controls.
  ///
  /// On the running system it must belong to one of `owners`, so that a link into /etc/shadow leaks nothing; an image
  /// may have been copied under other numbers.
  public func read(_ path: String, ownedBy owners: UInt32..., cap: Int = 1 << 20) throws(Unreadable) -> File {
    guard isLive else { return try read(path, cap: cap) }
    return try remembered("\(owners):\(path)") { () throws(Unreadable) in try load(path, cap: cap, owners: owners) }
  }

  /// Content as text, or nil where there is none to be had for whatever reason. For files whose absence means nothing.
  public func text(_ path: String) -> String? { (try? read(path))?.text }

  private func remembered(
    _ key: String, _ load: () throws(Unreadable) -> File
  ) throws(Unreadable) -> File {
    if let known = memory.withLock({ $0.files[key] }) { return try known.get() }
    let result = Result { () throws(Unreadable) in try load() }
    return try memory.withLock { $0.files.first(key, result) }.get()
  }

  private func load(_ path: String, cap: Int, owners: [UInt32]) throws(Unreadable) -> File {
    do throws(SystemError) {
      let source = try openToRead(path, cap: cap, owners: owners)
      guard let bytes = try source.file.readAll(cap: cap, size: Int(source.status.st_size), path) else {
        throw Unreadable.tooLarge.asSystemError
      }
      let (owner, group) = self.owners(source.status)
      return File(bytes: bytes, owner: owner, group: group, mode: source.status.st_mode)
    } catch { throw Unreadable(error) }
  }

  /// A large file of paragraphs with empty lines between them, in pieces that are not remembered: whole paragraphs go to
  /// `isWanted`, which says whether it needs more.
  func readParagraphs(_ path: String, cap: Int, while isWanted: ([UInt8]) -> Bool) throws(Unreadable) {
    do throws(SystemError) {
      let source = try openToRead(path, cap: cap, owners: [])
      var rest: [UInt8] = []
      for _ in 0...cap / Self.piece {
        let chunk = try source.file.read(Self.piece, path)
        let end = chunk.isEmpty ? 0 : Self.endOfParagraphs(chunk)
        rest += chunk[..<(end ?? chunk.count)]
        // What has no end in so many bytes is no paragraph.
        guard end != nil || rest.count > Self.largestParagraph else { continue }
        guard isWanted(rest), !chunk.isEmpty else { return }
        rest = Array(chunk[(end ?? chunk.count)...])
      }
    } catch { throw Unreadable(error) }
  }

  private static let largestParagraph = 1 << 20
  private static let piece = 65_536

  /// Behind the last empty line.
  private static func endOfParagraphs(_ bytes: [UInt8]) -> Int? {
    let newline = UInt8(ascii: "\n")
    return bytes.indices.dropFirst().last { bytes[$0] == newline && bytes[$0 - 1] == newline }.map { $0 + 1 }
  }

  /// A regular file of at most `cap` bytes by its own word, of an owner it should have, or of any.
  private func openToRead(_ path: String, cap: Int, owners: [UInt32]) throws(SystemError) -> OpenFile {
    memory.withLock { $0.opens += 1 }
    let file = Descriptor(owning: try open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY))
    let status = try file.status(path)
    guard status.st_mode & S_IFMT == S_IFREG else { throw Unreadable.notRegular.asSystemError }
    guard owners.isEmpty || owners.contains(status.st_uid) else { throw Unreadable.foreign.asSystemError }
    // A sparse giant is refused before a byte of it is read.
    guard status.st_size <= cap else { throw Unreadable.tooLarge.asSystemError }
    memory.withLock {
      let first = $0.read.first([UInt64(status.st_dev), UInt64(status.st_ino)], path)
      if first != path { $0.readAgain.append(path) }
    }
    return OpenFile(file: file, status: status)
  }

  /// A descriptor for a device or another file that is not read whole. The caller closes it.
  public func open(_ path: String, _ flags: Int32) throws(SystemError) -> Int32 {
    let folder = Path.folder(of: path)
    let isHopeless = memory.withLock { memory in
      memory.visited.insert(path)
      return memory.folders[folder] == false
    }
    if isHopeless { throw SystemError(ENOENT, doing: "open", path: path) }
    do throws(SystemError) { return try openNow(path, flags) } catch {
      if error.errno == ENOENT { noteMissing(folder) }
      throw error
    }
  }

  /// Probes look for many names in folders that few systems have: in one that is not there, nothing is looked for again.
  private func noteMissing(_ folder: String) {
    guard folder != "/", memory.withLock({ $0.folders[folder] }) == nil else { return }
    var isThere = true
    do throws(SystemError) { _ = Descriptor(owning: try openNow(folder, Descriptor.pathOnly)) } catch {
      isThere = error.errno != ENOENT
    }
    memory.withLock { $0.folders[folder] = isThere }
  }

  private func openNow(_ path: String, _ flags: Int32) throws(SystemError) -> Int32 {
    if !walksByStep {
      do throws(SystemError) {
        return try retrying("open", path) {
          path.withCString { start in
            var relative = start
            while relative.pointee == CChar(bitPattern: UInt8(ascii: "/")) { relative += 1 }
            guard relative.pointee != 0 else { return clinux_open_in_root(directory, ".", flags | O_CLOEXEC) }
            return clinux_open_in_root(directory, relative, flags | O_CLOEXEC)
          }
        }
      } catch {
        // EPERM: a seccomp filter that is older than the call; a real one comes back from the walk.
        // EAGAIN: somewhere on this machine something was renamed or mounted while the call was at a "..".
        guard [ENOSYS, EPERM, EAGAIN].contains(error.errno) else { throw error }
      }
    }
    return try walk.open(path, flags)
  }

  // MARK: Names

  /// Names in a directory, sorted by bytes, without "." and "..".
  public func list(_ path: String) throws(Unreadable) -> [String] { try entries(path).map(\.name) }

  private func entries(_ path: String) throws(Unreadable) -> [Directory.Entry] {
    if let known = memory.withLock({ $0.lists[path] }) { return try known.get() }
    let result = Result { () throws(Unreadable) in try readEntries(of: path) }
    return try memory.withLock {
      $0.listed.insert(path)
      return $0.lists.first(path, result)
    }.get()
  }

  private func readEntries(of path: String) throws(Unreadable) -> [Directory.Entry] {
    do throws(SystemError) {
      let directory = Descriptor(owning: try open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK))
      // A farm of a million names is no configuration.
      return try Directory.entries(directory, path, cap: 65_536)
    } catch { throw Unreadable(error) }
  }

  /// What is at `path`, links followed.
  public func status(_ path: String) throws(Unreadable) -> Status {
    if let known = memory.withLock({ $0.statuses[path] }) { return try known.get() }
    let result = Result { () throws(Unreadable) in try look(at: path) }
    return try memory.withLock { $0.statuses.first(path, result) }.get()
  }

  private func look(at path: String) throws(Unreadable) -> Status {
    do throws(SystemError) {
      let file = Descriptor(owning: try open(path, Descriptor.pathOnly))
      let status = try file.status(path)
      let (owner, group) = owners(status)
      return Status(status, owner: owner, group: group)
    } catch { throw Unreadable(error) }
  }

  /// User and group as the examined system has them.
  private func owners(_ status: stat) -> (UInt32, UInt32) {
    guard let unpacker else { return (status.st_uid, status.st_gid) }
    return (status.st_uid == unpacker.user ? 0 : status.st_uid, status.st_gid == unpacker.group ? 0 : status.st_gid)
  }

  public func exists(_ path: String) -> Bool { (try? status(path)) != nil }

  /// Whether a directory has this name: a file, or a link wherever it leads.
  func hasEntry(_ path: String) -> Bool {
    if let known = memory.withLock({ $0.entries[path] }) { return known }
    let isThere = (try? open(path, Descriptor.pathOnly | O_NOFOLLOW)).map { Descriptor(owning: $0) } != nil
    return memory.withLock { $0.entries.first(path, isThere) }
  }

  /// The targets, as they are written, of those names in a directory that are links and that `isWanted` takes.
  func links(in folder: String, where isWanted: (String) -> Bool) -> [String: String] {
    let names = ((try? entries(folder)) ?? []).filter { ($0.mayBe(DT_LNK) || walk.hasCopies) && isWanted($0.name) }
    guard !names.isEmpty, let fd = try? open(folder, Descriptor.pathOnly | O_DIRECTORY) else { return [:] }
    let open = Descriptor(owning: fd)
    return names.reduce(into: [:]) { links, entry in links[entry.name] = walk.target(open.number, entry.name) }
  }

  /// The first block device in a directory of those names that `isWanted` takes.
  func blockDevice(in folder: String, where isWanted: (String) -> Bool) -> String? {
    ((try? entries(folder)) ?? []).first {
      $0.mayBe(DT_BLK) && isWanted($0.name) && (try? status("\(folder)/\($0.name)"))?.kind == .block
    }?.name
  }

  /// The target of a symlink, as it is written; nil where it is none.
  public func link(_ path: String) -> String? {
    if let known = memory.withLock({ $0.links[path] }) { return known }
    let target = readLink(path)
    return memory.withLock { $0.links.first(path, target) }
  }

  private func readLink(_ path: String) -> String? {
    if walk.knowsMore {
      memory.withLock { _ = $0.visited.insert(path) }
      return walk.link(path)
    }
    guard let fd = try? open(path, Descriptor.pathOnly | O_NOFOLLOW) else { return nil }
    let file = Descriptor(owning: fd)
    return PathWalk.link(file.number, "")
  }
}

extension Dictionary {
  /// What is known of `key`, or from now on `value`.
  fileprivate mutating func first(_ key: Key, _ value: Value) -> Value {
    if let known = self[key] { return known }
    self[key] = value
    return value
  }
}

/// A regular file that was opened, as it was then.
private struct OpenFile: ~Copyable {
  let file: Descriptor
  let status: stat
}

/// Somebody other than root who unpacked the tree that they examine: its files could not be given to root.
private struct Unpacker {
  let user: UInt32
  let group: UInt32

  /// nil where the top of the tree is not the process's own, or root's.
  init?(_ top: stat, process: UInt32) {
    guard process != 0, top.st_uid == process else { return nil }
    (user, group) = (top.st_uid, top.st_gid)
  }
}
