public import Glibc
public import PosturePlatform

/// A temporary folder that goes with its owner.
public final class Folder: Sendable {
  public let path: String

  /// - Parameter isInMemory: on a file system in memory where there is one, for thousands of files that live for a moment.
  public init(isInMemory: Bool = false) throws(SystemError) {
    let memory = "/dev/shm"
    path = try isInMemory && access(memory, W_OK) == 0 ? TemporaryFolder.make(in: memory) : TemporaryFolder.make()
  }

  deinit { TemporaryFolder.remove(path) }

  public func file(_ name: String) -> String { Path.join(path, name) }

  /// The path of the file written.
  @discardableResult
  public func write(_ name: String, _ text: String, mode: mode_t = 0o600) throws(SystemError) -> String {
    try AtomicFile.write(Array(text.utf8), to: file(name), mode: mode)
    return file(name)
  }
}
