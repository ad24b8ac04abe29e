import Glibc
import PostureFleet
import PosturePlatform

/// Text from a file, or from standard input for `-`.
enum Input {
  static func text(_ path: String, cap: Int = 64 << 20) throws -> String {
    let bytes = path == "-" ? try read(Descriptor(owning: dup(0)), path, cap) : try read(open(path), path, cap)
    guard let text = String(validating: bytes, as: UTF8.self) else { throw HomeError(.damaged, "\(path): not UTF-8") }
    return text
  }

  private static func open(_ path: String) throws(SystemError) -> Descriptor { try Descriptor.open(path, O_RDONLY) }

  private static func read(_ file: borrowing Descriptor, _ path: String, _ cap: Int) throws -> [UInt8] {
    guard let bytes = try file.readAll(cap: cap, path) else { throw HomeError(.refused, "\(path): too large") }
    return bytes
  }
}
