import CLinux
import Glibc
import Posture
public import PosturePlatform

/// How the attester's process gives up what it does not need.
public enum Privilege {
  /// A user that a process is to become.
  public struct User: Hashable, Sendable {
    public let uid: UInt32
    public let gid: UInt32

    public init(uid: UInt32, gid: UInt32) {
      self.uid = uid
      self.gid = gid
    }

    /// By name (getpwnam(3)), as `UID:GID`, or as a number for both. nil for root and for nobody we know.
    public init?(_ text: String) {
      let numbers = text.split(separator: ":", omittingEmptySubsequences: false).map { UInt32($0) }
      if (1...2).contains(numbers.count), let uid = numbers[0], let gid = numbers[numbers.count - 1] {
        self.init(uid: uid, gid: gid)
      } else if let entry = getpwnam(text) {
        self.init(uid: entry.pointee.pw_uid, gid: entry.pointee.pw_gid)
      } else {
        return nil
      }
      if uid == 0 { return nil }
    }

    /// Whether the file's mode lets the user, or the groups of its account, read and write it.
    public func mayUse(_ path: String) -> Bool {
      var status = stat()
      guard stat(path, &status) == 0 else { return false }
      if status.st_uid == uid { return status.st_mode & 0o600 == 0o600 }
      if groups.contains(status.st_gid) { return status.st_mode & 0o060 == 0o060 }
      return status.st_mode & 0o006 == 0o006
    }

    private var groups: [gid_t] {
      guard let account = getpwuid(uid) else { return [gid] }
      var groups = [gid_t](repeating: 0, count: 256)
      var count = Int32(groups.count)
      guard getgrouplist(account.pointee.pw_name, gid, &groups, &count) >= 0 else { return [gid] }
      return Array(groups[..<Int(count)])
    }
  }

  /// Becomes `user` for good, without any right of root's: what the courier does.
  public static func become(_ user: User) throws(SystemError) {
    guard geteuid() == 0 else { return }
    try retrying("become uid \(user.uid)") { clinux_become(user.uid, user.gid, false) }
    hideMemory()
  }

  /// Root does `body` as `user`, for whom the files that it reads and writes are, so that a link in their folder leads
  /// nowhere that they could not go themselves. For anybody else, and for nil, nothing changes.
  static func acting<Value>(
    as user: User?, _ body: () throws(AttesterError) -> Value
  ) throws(AttesterError) -> Value {
    do throws(SystemError) { try act(as: user) } catch { throw AttesterError(.internal, error.description) }
    defer { actAsRootAgain(user) }
    return try body()
  }

  private static func act(as user: User?) throws(SystemError) {
    guard let user, geteuid() == 0 else { return }
    do throws(SystemError) { try retrying("become uid \(user.uid)") { clinux_act_as(user.uid, user.gid) } } catch {
      clinux_act_as(0, 0)
      throw error
    }
  }

  private static func actAsRootAgain(_ user: User?) {
    guard user != nil, getuid() == 0 else { return }
    clinux_act_as(0, 0)
  }

  /// Whatever happens to this process leaves no image of its memory, and no other process of its user looks into it.
  ///
  /// Swift's runtime answers a crash by starting a program that prints registers and memory, and that waits for ever where
  /// it may not look: a crash ends the process at once instead.
  public static func hideMemory() {
    clinux_not_dumpable()
    for crash in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { signal(crash, SIG_DFL) }
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
  }

  /// Leaves the network and becomes `user`, with the right to read every file and to look into every folder, and with no
  /// other. Root alone can; anybody else goes on with what they have.
  public static func reduce(to user: User?) throws(SystemError) {
    if geteuid() == 0 {
      guard let user else { throw SystemError(EPERM, doing: "run as root without a user to become") }
      try retrying("leave the network") { clinux_drop_network() }
      try retrying("become uid \(user.uid)") { clinux_become(user.uid, user.gid, true) }
    }
    hideMemory()
  }
}
