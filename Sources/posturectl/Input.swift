import Glibc
import PostureFleet
import PosturePlatform

/// Text from a file, or from standard input for `-`.
enum Input {
  static func text(_ path: String, cap: Int) throws -> String {
    guard let bytes = try open(path).readAll(cap: cap, path) else { throw HomeError(.refused, "\(path): too large") }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw HomeError(.damaged, "\(path): not UTF-8") }
    return text
  }

  static func lines(_ path: String, cap: Int) throws(SystemError) -> LineReader {
    LineReader(try open(path), cap: cap)
  }

  private static func open(_ path: String) throws(SystemError) -> Descriptor {
    path == "-" ? Descriptor(owning: dup(0)) : try Descriptor.open(path, O_RDONLY)
  }
}
