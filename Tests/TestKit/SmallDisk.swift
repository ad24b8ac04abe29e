import Glibc
public import PosturePlatform

/// A file system of its own, small enough to be filled; root only. It goes with its owner.
public final class SmallDisk: Sendable {
  public static let isPossible = geteuid() == 0

  private let folder: Folder
  public let path: String

  public init(kilobytes: Int = 512) throws(SystemError) {
    folder = try Folder()
    path = folder.file("disk")
    chmod(folder.path, 0o755)
    mkdir(path, 0o755)
    let disk = path
    try retrying("mount", disk) { mount("tmpfs", disk, "tmpfs", 0, "size=\(kilobytes)k,mode=0755") }
  }

  /// There for the time of `body`.
  public static func with<Result>(kilobytes: Int = 512, _ body: (SmallDisk) throws -> Result) throws -> Result {
    let disk = try SmallDisk(kilobytes: kilobytes)
    return try withExtendedLifetime(disk) { try body(disk) }
  }

  deinit { umount2(path, Int32(MNT_DETACH)) }

  private var ballast: String { "\(path)/ballast" }

  /// Until nothing more goes onto it.
  public func fill() throws(SystemError) {
    let file = try Descriptor.open(ballast, O_WRONLY | O_CREAT | O_APPEND, mode: 0o600)
    for size in [4_096, 1] {
      while (try? file.writeAll(Array(repeating: 1, count: size))) != nil {}
    }
  }

  public func empty() { unlink(ballast) }

  /// Fails while a file is open for writing.
  public func set(readOnly: Bool) throws(SystemError) {
    let (disk, flags) = (path, UInt(MS_REMOUNT) | (readOnly ? UInt(MS_RDONLY) : 0))
    try retrying("remount", disk) { mount("tmpfs", disk, "tmpfs", flags, "") }
  }
}
