import CLinux
import Glibc
import Posture
import PosturePlatform

/// Watches the directories of a ``WatchPlan`` with inotify(7), and counts changes once they have come to rest.
final class Watcher {
  /// Milliseconds without a further change after which one counts, and the longest that a series of them is waited for.
  static let quiet: Int64 = 200
  static let longest: Int64 = 1_000
  /// Directories: more are no configuration, and each costs the kernel a kilobyte.
  private let most: Int
  private let silent: Set<Int64>

  /// Changes that have come to rest.
  private(set) var number: Int64 = 0
  private(set) var coverage = WatchCoverage.none

  private let root: String
  private let inotify: Int32
  private var plan: [String: WatchPlan.Interest] = [:]
  /// What the last examination asked for (``hash(_:)``).
  private var followed: Int?
  private var watches: [String: Int32] = [:]
  private var folders: [Int32: String] = [:]
  private var firstChange: Int64?
  private var lastChange: Int64 = 0
  /// Where something changes without end, its examinations must not take the machine.
  private var budget: Bucket
  private var spacing: Int64 = 0

  /// - Parameters:
  ///   - root: the directory that the examined paths are below.
  ///   - silent: types of file systems (statfs(2)) that do not tell of every change.
  init(root: String, most: Int = 8_192, silent: Set<Int64> = Watcher.remote) {
    self.most = most
    self.silent = silent
    self.root = root == "/" ? "" : root
    inotify = clinux_inotify()
    budget = Bucket(every: 5_000, burst: 20)
  }

  deinit { if inotify >= 0 { close(inotify) } }

  /// -1 where the system has no inotify to give.
  var descriptor: Int32 { inotify }
  var directories: Int { watches.count }

  /// When pending changes are to be counted (CLOCK_BOOTTIME, milliseconds).
  var deadline: Int64? { firstChange.map { min($0 + Self.longest, lastChange + Self.quiet) + spacing } }

  // MARK: What to watch

  /// Whether this examination asked for what the last one did, and all of that is watched: then ``follow(_:)`` can wait
  /// until its report is on its way.
  func isFollowing(_ examination: Examination) -> Bool {
    watches.count == plan.count && followed == Self.hash(examination)
  }

  /// The sets themselves are large, and kept by nobody.
  private static func hash(_ examination: Examination) -> Int {
    [examination.visited, examination.listed].hashValue
  }

  /// Takes up what an examination asked for. What was not watched while it looked may have changed behind its back: that
  /// counts as a change.
  func follow(_ examination: Examination) {
    guard inotify >= 0 else { return }
    let plan = WatchPlan(visited: examination.visited, listed: examination.listed, node: node)
    self.plan = plan.interests
    followed = Self.hash(examination)
    for (folder, watch) in watches where plan.interests[folder] == nil { remove(folder, watch) }
    var isComplete = plan.interests.count <= most
    for (folder, interest) in plan.interests.sorted(by: { $0.key < $1.key }).prefix(most) {
      let isNew = watches[folder] == nil
      guard add(folder) else {
        isComplete = false
        continue
      }
      if isNew, hasChanged(folder, interest, since: examination.began) { note() }
    }
    coverage = watches.isEmpty ? .none : isComplete ? .complete : .partial
  }

  private static let names =
    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR
  private static let contents = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB

  /// What is written to a device is no change of the system.
  private static func events(_ folder: String) -> UInt32 {
    let isDevices = folder == "/dev" || folder.hasPrefix("/dev/")
    return UInt32(truncatingIfNeeded: isDevices ? names : names | contents)
  }

  /// Also for one that is watched already: the name may belong to another directory by now.
  private func add(_ folder: String) -> Bool {
    let watch = inotify_add_watch(inotify, root + folder, Self.events(folder))
    guard watch >= 0 else {
      // It went away meanwhile, and its parent tells of it.
      return errno == ENOENT || errno == ENOTDIR
    }
    if let before = watches[folder], before != watch { remove(folder, before) }
    watches[folder] = watch
    folders[watch] = folder
    return !silent.contains(clinux_filesystem_type(root + folder))
  }

  private func remove(_ folder: String, _ watch: Int32) {
    inotify_rm_watch(inotify, watch)
    watches[folder] = nil
    folders[watch] = nil
  }

  /// File systems whose changes may be made elsewhere (statfs(2)): NFS, CIFS, SMB2, 9p, FUSE, Ceph.
  static let remote: Set<Int64> = [
    0x6969, 0xFF53_4D42, 0xFE53_4D42, 0x0102_1997, 0x6573_5546, 0x00C3_6400,
  ]

  // MARK: What has changed

  /// Reads what the kernel tells.
  func collect(now: Int64 = Clock.boottimeMilliseconds) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(inotify, &buffer, buffer.count)
      guard count > 0 else { return }
      var at = 0
      while at + Self.headSize <= count { at += take(buffer, at, now) }
    }
  }

  private static let headSize = 16

  /// One event (struct inotify_event): its size.
  private func take(_ buffer: [UInt8], _ at: Int, _ now: Int64) -> Int {
    let field = { (offset: Int) in
      buffer[(at + offset)..<(at + offset + 4)].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }
    let length = Int(field(12))
    let start = at + Self.headSize
    let name = String(decoding: buffer[start..<min(start + length, buffer.count)].prefix { $0 != 0 }, as: UTF8.self)
    take(watch: Int32(bitPattern: field(0)), mask: field(4), name: name, now)
    return Self.headSize + length
  }

  private func take(watch: Int32, mask: UInt32, name: String, _ now: Int64) {
    // The queue ran over: anything may have changed.
    if mask & UInt32(IN_Q_OVERFLOW) != 0 { return note(now) }
    guard let folder = folders[watch], let interest = plan[folder] else { return }
    if mask & UInt32(IN_IGNORED) != 0 {
      folders[watch] = nil
      watches[folder] = nil
      return note(now)
    }
    // Without a name it is about the directory itself.
    if name.isEmpty || interest.includes(name) { note(now) }
  }

  private func note(_ now: Int64 = Clock.boottimeMilliseconds) {
    firstChange = firstChange ?? now
    lastChange = now
  }

  /// Counts as a change: what was seen last has to be seen again.
  func lookAgain() { note() }

  /// Counts changes that have come to rest; true if there were any.
  func settle(now: Int64 = Clock.boottimeMilliseconds) -> Bool {
    guard let deadline, now >= deadline else { return false }
    firstChange = nil
    number += 1
    spacing = budget.takeNow(now) ? 0 : 5_000
    return true
  }

  // MARK: Looking

  private func node(_ path: String) -> WatchPlan.Node {
    var status = stat()
    guard lstat(root + path, &status) == 0 else { return .missing }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: return .directory
    case S_IFLNK: return .link(target(root + path))
    default: return .other
    }
  }

  private func target(_ path: String) -> String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &buffer, buffer.count)
    return count > 0 ? String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) : ""
  }

  /// By the change time of the directory and of the names in it that count.
  private func hasChanged(_ folder: String, _ interest: WatchPlan.Interest, since began: Int64) -> Bool {
    let names: Set<String> = if case .names(let names) = interest { names } else { [] }
    let paths = (interest == .all ? [root + folder] : []) + names.map { "\(root)\(folder)/\($0)" }
    return paths.contains { path in
      var status = stat()
      return lstat(path, &status) == 0 && Self.latest(status.st_ctim) >= began
    }
  }

  /// Some file systems count whole seconds, or every other: the latest time that theirs may stand for.
  static func latest(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) * 1_000_000_000 + (time.tv_nsec == 0 ? 1_999_999_999 : Int64(time.tv_nsec))
  }
}
