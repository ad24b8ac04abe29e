public import Glibc
public import PosturePlatform

/// A small root tree made by a test, removed when the last reference goes.
public final class FixtureTree: Sendable {
  /// The root directory.
  public let root: String

  /// Makes a tree of these files; folders come by themselves.
  public init(_ files: [String: String] = [:]) throws {
    root = try TemporaryFolder.make()
    chmod(root, 0o755)
    for (path, text) in files { try write(path, text) }
  }

  deinit { TemporaryFolder.remove(root) }

  /// The place of `path` ("/etc/passwd") on this machine.
  public func place(_ path: String) -> String { Path.join(root, String(path.drop { $0 == "/" })) }

  public func write(_ path: String, _ text: String, mode: mode_t = 0o644) throws(SystemError) {
    try write(path, Array(text.utf8), mode: mode)
  }

  public func write(_ path: String, _ bytes: [UInt8], mode: mode_t = 0o644) throws(SystemError) {
    makeFolder(Path.folder(of: path))
    try AtomicFile.write(bytes, to: place(path), mode: mode)
  }

  public func makeFolder(_ path: String) {
    var made = ""
    for part in place(path).split(separator: "/") {
      made += "/\(part)"
      mkdir(made, 0o755)
    }
  }

  public func link(_ path: String, to target: String) {
    makeFolder(Path.folder(of: path))
    symlink(target, place(path))
  }

  public func makeFIFO(_ path: String) {
    makeFolder(Path.folder(of: path))
    mkfifo(place(path), 0o644)
  }

  /// A file of this size without content.
  public func makeSparse(_ path: String, size: Int) throws(SystemError) {
    try write(path, "")
    try retrying("truncate", path) { truncate(place(path), size) }
  }
}
