import CLinux
import Glibc
import PosturePlatform

extension System {
  /// Why a file has no content for us.
  public enum Unreadable: Error, Hashable, Sendable {
    case missing
    case denied
    /// A directory, a FIFO, a device.
    case notRegular
    /// Larger than the cap that its kind of file has.
    case tooLarge
    /// A loop of symlinks.
    case loop
    /// Its owner is not the one whose file it should be.
    case foreign
    case other(Int32)

    /// For `observed`: "is missing", "is no regular file".
    public var words: String {
      switch self {
      case .missing: "is missing"
      case .denied: "may not be read by this process"
      case .notRegular: "is no regular file"
      case .tooLarge: "is too large"
      case .loop: "is a loop of links"
      case .foreign: "belongs to somebody else"
      case .other(let number): String(cString: strerror(number))
      }
    }
  }

  public struct File: Sendable {
    public var bytes: [UInt8]
    public var owner: UInt32
    public var group: UInt32
    public var mode: UInt32

    /// UTF-8 text; invalid sequences are replaced.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
    public var isWritableByOthers: Bool { mode & 0o002 != 0 }
    public var isWritableByGroup: Bool { mode & 0o020 != 0 }
  }

  public struct Status: Sendable {
    public enum Kind: Sendable { case regular, directory, symlink, block, character, other }
    public var kind: Kind
    public var owner: UInt32
    public var group: UInt32
    public var mode: UInt32
    public var size: Int64
    public var device: UInt64
    public var inode: UInt64
    /// Major and minor number of a device node.
    public var node: (major: UInt32, minor: UInt32)
  }
}

extension System.Status {
  init(_ status: stat, owner: UInt32, group: UInt32) {
    switch status.st_mode & S_IFMT {
    case S_IFREG: kind = .regular
    case S_IFDIR: kind = .directory
    case S_IFLNK: kind = .symlink
    case S_IFBLK: kind = .block
    case S_IFCHR: kind = .character
    default: kind = .other
    }
    self.owner = owner
    self.group = group
    mode = status.st_mode
    size = Int64(status.st_size)
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    node = (clinux_major(UInt64(status.st_rdev)), clinux_minor(UInt64(status.st_rdev)))
  }
}

extension System.Unreadable {
  init(_ error: SystemError) {
    switch error.errno {
    case ENOENT, ENOTDIR: self = .missing
    case EACCES, EPERM: self = .denied
    case ELOOP: self = .loop
    case EFBIG: self = .tooLarge
    case Self.foreignNumber: self = .foreign
    // A FIFO or a socket cannot be opened without blocking, a directory not be read.
    case ENXIO, EISDIR, ENODEV: self = .notRegular
    default: self = .other(error.errno)
    }
  }

  private static let foreignNumber = EREMOTE

  var asSystemError: SystemError {
    let number: Int32 =
      switch self {
      case .notRegular: ENXIO
      case .tooLarge: EFBIG
      case .foreign: Self.foreignNumber
      default: EIO
      }
    return SystemError(number, doing: "read")
  }
}
