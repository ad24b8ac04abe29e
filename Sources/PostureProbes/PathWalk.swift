import Glibc
import PosturePlatform

/// Opens paths below a root directory step by step, so that absolute links and ".." stay below it: what openat2(2) does
/// in one call, for kernels before 5.6 and sandboxes that do not let that call through.
///
/// Each step is opened with O_NOFOLLOW, so a link that appears between two steps leads nowhere.
struct PathWalk {
  /// As the kernel counts them (path_resolution(7)).
  private static let maximalLinks = 40

  let root: Int32
  /// Small files stand for links (``CopiedLinks``).
  let hasCopies: Bool
  /// Top folders whose links to those of the same name below /usr were lost when the tree was copied.
  private var merged: Set<String> = []
  /// There are links that the kernel knows nothing of.
  var knowsMore: Bool { hasCopies || !merged.isEmpty }

  init(root: Int32, hasCopies: Bool = false, isWhole: Bool = true) {
    self.root = root
    self.hasCopies = hasCopies
    if !isWhole { merged = missing }
  }

  private var missing: Set<String> {
    Set(["bin", "sbin", "lib", "lib32", "lib64", "libx32"].filter { !isThere($0) && isThere("usr/\($0)") })
  }

  private func isThere(_ path: String) -> Bool {
    (try? open(path, Descriptor.pathOnly | O_NOFOLLOW)).map { Descriptor(owning: $0) } != nil
  }

  func open(_ path: String, _ flags: Int32) throws(SystemError) -> Int32 {
    var folders: [Int32] = []
    defer { folders.forEach { close($0) } }
    var parts = Array(Self.parts(path).reversed())
    var links = 0
    while let part = parts.popLast() {
      let here = folders.last ?? root
      if part == ".." {
        if let left = folders.popLast() { close(left) }
      } else if let target = target(here, part), !(parts.isEmpty && flags & O_NOFOLLOW != 0) {
        links += 1
        guard links <= Self.maximalLinks else { throw SystemError(ELOOP, doing: "open", path: path) }
        if target.hasPrefix("/") {
          folders.forEach { close($0) }
          folders = []
        }
        parts += Self.parts(target).reversed()
      } else if parts.isEmpty {
        return try step(here, part, flags | O_NOFOLLOW, path)
      } else {
        folders.append(try step(here, part, Descriptor.pathOnly | O_DIRECTORY | O_NOFOLLOW, path))
      }
    }
    return try step(folders.last ?? root, ".", flags, path)
  }

  /// The target of a link at the end of a path; nil where it is none.
  func link(_ path: String) -> String? {
    let parts = Self.parts(path)
    guard let name = parts.last else { return nil }
    if parts.count == 1 { return target(root, name) }
    guard
      let fd = try? open(parts.dropLast().joined(separator: "/"), Descriptor.pathOnly | O_DIRECTORY)
    else { return nil }
    let folder = Descriptor(owning: fd)
    return target(folder.number, name)
  }

  /// The target of a link in an open folder; nil where it is none.
  func target(_ folder: Int32, _ name: String) -> String? {
    if folder == root, merged.contains(name) { return "usr/\(name)" }
    return Self.link(folder, name) ?? (hasCopies ? CopiedLinks.target(folder, name) : nil)
  }

  private func step(_ folder: Int32, _ name: String, _ flags: Int32, _ path: String) throws(SystemError) -> Int32 {
    try retrying("open", path) { openat(folder, name, flags | O_CLOEXEC) }
  }

  private static func parts(_ path: String) -> [String] {
    path.split(separator: "/").filter { $0 != "." }.map(String.init)
  }

  /// The target of a link in a folder; nil where it is none.
  static func link(_ folder: Int32, _ name: String) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
      let count = readlinkat(folder, name, buffer.baseAddress!, buffer.count)
      return count > 0 ? String(decoding: UnsafeRawBufferPointer(buffer)[..<count], as: UTF8.self) : nil
    }
  }
}
