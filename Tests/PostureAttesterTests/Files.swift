import Glibc
import PosturePlatform

/// Plain reading and writing of a test's files.
enum Files {
  static func read(_ path: String) throws -> [UInt8] {
    try Descriptor.open(path, O_RDONLY).readAll(cap: 64 << 20) ?? []
  }

  /// In place: the inode stays.
  static func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o600) throws {
    try Descriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: mode).writeAll(bytes)
  }

  static func remove(_ path: String) { unlink(path) }

  static func copy(_ from: String, to path: String) throws {
    guard access(from, F_OK) == 0 else { return remove(path) }
    try write(try read(from), to: path)
  }

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
