public import Glibc

/// Files that are either the old one or the new one, whatever happens in between.
public enum AtomicFile {
  /// Writes beside `path`, syncs, renames, syncs the folder.
  public static func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o600) throws(SystemError) {
    let folder = Path.folder(of: path)
    let draft = "\(path).\(getpid()).new"
    unlink(draft)
    do throws(SystemError) {
      let file = try Descriptor.open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
      try retrying("chmod", draft) { fchmod(file.number, mode) }
      try file.writeAll(bytes, draft)
      try retrying("fsync", draft) { fsync(file.number) }
      try retrying("rename", path) { rename(draft, path) }
    } catch {
      unlink(draft)
      throw error
    }
    let parent = try Descriptor.open(folder, O_RDONLY | O_DIRECTORY)
    try retrying("fsync", folder) { fsync(parent.number) }
  }

  /// Reads a file of our own: a regular file, at most `cap` bytes, that nobody but its owner (us, or root) can change.
  /// `private`: nor read.
  public static func read(
    _ path: String, cap: Int = 1 << 20, private isPrivate: Bool = false
  ) throws(SystemError) -> [UInt8] {
    let file = try Descriptor.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
    let status = try file.status(path)
    guard status.st_mode & S_IFMT == S_IFREG else { throw SystemError(EINVAL, doing: "not a regular file", path: path) }
    guard status.st_uid == geteuid() || status.st_uid == 0, status.st_mode & 0o022 == 0 else {
      throw SystemError(EPERM, doing: "others can change this file", path: path)
    }
    guard !isPrivate || status.st_mode & 0o077 == 0 else {
      throw SystemError(EPERM, doing: "others can read this file", path: path)
    }
    guard let bytes = try file.readAll(cap: cap, path) else { throw SystemError(EFBIG, doing: "read", path: path) }
    return bytes
  }
}

/// Slash-separated paths as text.
public enum Path {
  /// "/etc" of "/etc/passwd"; "." where there is no slash.
  public static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// "passwd" of "/etc/passwd".
  public static func name(of path: String) -> String {
    let bytes = path.utf8
    guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return path }
    return String(path[bytes.index(after: slash)...])
  }

  /// `name` below `folder`, or `name` itself where it is absolute.
  public static func join(_ folder: String, _ name: String) -> String {
    if name.hasPrefix("/") { return name }
    return folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
  }
}
